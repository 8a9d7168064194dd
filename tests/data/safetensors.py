"""Writes and reads files with the reference implementation of safetensors, the Python package `safetensors`. Needs no other package.

    safetensors.py write FOLDER SEED    files of all types that a .ptd has, with random tensors and metadata; prints their names
    safetensors.py read FILE            the metadata and the tensors of a file, as JSON
"""

import ctypes
import json
import pathlib
import random
import sys

# Otherwise `import safetensors` finds this file.
sys.path = [path for path in sys.path if path and pathlib.Path(path).resolve() != pathlib.Path(__file__).resolve().parent]

from safetensors import TensorSpec, deserialize, serialize  # noqa: E402

TYPES = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "uint32": 4,
    "float32": 4, "float64": 8, "int64": 8, "uint64": 8, "complex64": 8, "float8_e5m2": 1, "float8_e4m3fn": 1,
}  # fmt: skip


def save(path, tensors, metadata):
    """Tensors are (name, type, shape, bytes)."""
    buffers, specs = [], {}
    for name, dtype, shape, data in tensors:
        buffers.append(ctypes.create_string_buffer(data, max(len(data), 1)))
        pointer = ctypes.addressof(buffers[-1])
        specs[name] = TensorSpec(dtype=dtype, shape=shape, data_ptr=pointer, data_len=len(data))
    path.write_bytes(bytes(serialize(specs, metadata=metadata)))


def tensor(rng, name, dtype, shape):
    size = TYPES[dtype]
    for extent in shape:
        size *= extent
    data = bytes(rng.randrange(2) for _ in range(size)) if dtype == "bool" else rng.randbytes(size)
    return name, dtype, shape, data


def write(folder, seed):
    rng = random.Random(seed)
    shape = lambda: [rng.randrange(4) for _ in range(rng.randrange(5))]
    files = {
        "types": ([tensor(rng, f"{dtype}.weight", dtype, [2, 3]) for dtype in TYPES], {"format": "pt"}),
        "no_metadata": ([tensor(rng, name, "float32", [2]) for name in "dacb"], None),
        "empty_metadata": ([tensor(rng, "a", "int8", [3])], {}),
        "metadata_alone": ([], {"format": "np"}),
        "names": (
            [tensor(rng, name, "bfloat16", [1]) for name in ["", "ä\u2028", 'q"\\', "\n\t\x01", "/", "__metadata__.", "__header__"]],
            {"": "", "ß": '"\\/\b\f\n\r\t\x7f', "long": "x" * 5000},
        ),
        "equal_data": ([(name, "float16", [4], bytes(8)) for name in ["z", "a", "m"]], {"z": "1", "a": "2", "m": "3"}),
        "dimensions": ([tensor(rng, f"t{n}", "uint8", [1] * n) for n in range(17)], None),
    }
    for number in range(20):
        tensors = [tensor(rng, f"layer.{n}", rng.choice(list(TYPES)), shape()) for n in range(rng.randrange(1, 12))]
        rng.shuffle(tensors)
        metadata = {str(n): str(rng.random()) for n in range(rng.randrange(6))}
        files[f"random_{number}"] = (tensors, rng.choice([metadata, None]))
    for name, (tensors, metadata) in files.items():
        save(folder / f"{name}.safetensors", tensors, metadata)
        print(name)


def read(path):
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    found = deserialize(data)
    tensors = {name: [info["dtype"], info["shape"], bytes(info["data"]).hex()] for name, info in found}
    print(json.dumps({"metadata": header.get("__metadata__"), "tensors": tensors}))


if sys.argv[1] == "write":
    write(pathlib.Path(sys.argv[2]), int(sys.argv[3]))
else:
    read(pathlib.Path(sys.argv[2]))

"""The reader of `.ptd` files for releases whose packages do not have it: compiled from ExecuTorch's sources, for an application links it, too.

0.6 and 0.7 read `.ptd` files in C++ only; before 0.6 there is no reader. Needs a Git repository of ExecuTorch with tags, `flatc`, and the headers of
FlatBuffers (Debian: flatbuffers-compiler, libflatbuffers-dev).
"""

import pathlib
import subprocess
import tempfile

RELEASES = ["0.6.0", "0.7.0"]
FOLDER = "extension/flat_tensor"
SOURCES = [f"{FOLDER}/flat_tensor_data_map.cpp", f"{FOLDER}/serialize/flat_tensor_header.cpp", "runtime/core/tensor_layout.cpp"]
HEADERS = [f"{FOLDER}/flat_tensor_data_map.h", f"{FOLDER}/serialize/flat_tensor_header.h"]
SCHEMAS = [f"{FOLDER}/serialize/flat_tensor.fbs", f"{FOLDER}/serialize/scalar_type.fbs"]


def compile_reader(release, repository, flags, folder, run):
    """Object files in `folder`, compiled with the flags of the release's headers."""
    with tempfile.TemporaryDirectory() as place:
        tree = pathlib.Path(place, "executorch")
        for name in [*SOURCES, *HEADERS, *SCHEMAS]:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            blob = ["git", "-C", str(repository), "show", f"v{release}:{name}"]
            (tree / name).write_bytes(subprocess.run(blob, check=True, capture_output=True).stdout)
        serialize = tree / FOLDER / "serialize"
        run("flatc", "--cpp", "--scoped-enums", "-I", serialize, "-o", serialize, *(tree / name for name in SCHEMAS))
        objects = []
        for name in SOURCES:
            target = folder / pathlib.Path(name).with_suffix(".o").name
            run("g++", *flags, "-w", "-I", place, "-c", tree / name, "-o", target)
            objects.append(target)
        return objects

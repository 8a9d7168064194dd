"""Runs a program in ExecuTorch's Python package, for ``pte-emit test``: ``python -m pte_emit.runner MODEL.pte [--data FILE.ptd]``.

It reads commands from standard input, and answers on standard output: docs/runners.md of the repository describes this protocol. It needs
``pip install 'pte-emit[runtime]'``, and torch, whose import takes seconds.

The package sets all inputs when it executes, so that an input which the runtime rejects is an error of ``execute``, not of ``input``.
"""

from __future__ import annotations

import math
import os
import re
import struct
import sys
import warnings
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple

from ._pte_emit import EXECUTORCH

# Names of ScalarTypes in torch, by their numbers.
_DTYPES = {
    0: "uint8",
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    5: "float16",
    6: "float32",
    7: "float64",
    8: "complex32",
    9: "complex64",
    10: "complex128",
    11: "bool",
    15: "bfloat16",
    23: "float8_e5m2",
    24: "float8_e4m3fn",
    25: "float8_e5m2fnuz",
    26: "float8_e4m3fnuz",
    27: "uint16",
    28: "uint32",
    29: "uint64",
}

# Names of errors of the runtime.
_ERRORS = {
    0x01: "Internal",
    0x02: "InvalidState",
    0x03: "EndOfMethod",
    0x04: "AlreadyLoaded",
    0x10: "NotSupported",
    0x11: "NotImplemented",
    0x12: "InvalidArgument",
    0x13: "InvalidType",
    0x14: "OperatorMissing",
    0x15: "RegistrationExceedingMaxKernels",
    0x16: "RegistrationAlreadyRegistered",
    0x20: "NotFound",
    0x21: "MemoryAllocationFailed",
    0x22: "AccessFailed",
    0x23: "InvalidProgram",
    0x24: "InvalidExternalData",
    0x25: "OutOfResources",
    0x30: "DelegateInvalidCompatibility",
    0x31: "DelegateMemoryAllocationFailed",
    0x32: "DelegateInvalidHandle",
}


class _BadCommand(Exception):
    """A line that is no command."""


def _unquoted(word: str) -> str:
    """Returns the name of a method.

    >>> _unquoted("a%20b%25"), _unquoted("%")
    ('a b%', '')
    """
    if word == "%":
        return ""
    return re.sub(rb"%([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), word.encode()).decode()


def _quoted(name: str) -> str:
    """Returns the name of a method as one word.

    >>> _quoted("a b%"), _quoted("")
    ('a%20b%25', '%')
    """
    word = "".join(chr(byte) if 0x21 <= byte <= 0x7E and byte != 0x25 else f"%{byte:02x}" for byte in name.encode())
    return word or "%"


def _numbers(word: str) -> list[int]:
    return [] if word == "-" else [int(item) for item in word.split(",")]


def _bytes(word: str) -> bytes:
    return b"" if word == "-" else bytes.fromhex(word)


def _hex(data: bytes) -> str:
    return data.hex() or "-"


def _commas(items: list[int]) -> str:
    return ",".join(map(str, items)) or "-"


def _tensor(code: str, sizes: str, order: str, data: str) -> Any:
    """Creates the tensor of an input."""
    torch: Any = import_module("torch")

    name = _DTYPES.get(int(code))
    dtype = getattr(torch, name, None) if name else None
    if dtype is None:
        raise _BadCommand(f"{code} is not a ScalarType of torch")
    shape, dims, content = _numbers(sizes), _numbers(order), _bytes(data)
    if sorted(dims) != list(range(len(shape))):
        raise _BadCommand("DIMORDER is not a permutation")
    if len(content) != math.prod(shape) * dtype.itemsize:
        raise _BadCommand("HEX does not have the length that CODE and SIZES give")
    if not content:
        return torch.empty(shape, dtype=dtype)
    flat = torch.frombuffer(bytearray(content), dtype=dtype)
    in_memory = flat.reshape([shape[dim] for dim in dims])
    return in_memory.permute([dims.index(dim) for dim in range(len(dims))])


def _input(words: list[str]) -> Any:
    """Creates the value of an input."""
    match words:
        case ["tensor", code, sizes, order, data]:
            return _tensor(code, sizes, order, data)
        case ["int", number]:
            return int(number)
        case ["double", bits] if len(bits) == 16:
            return struct.unpack(">d", bytes.fromhex(bits))[0]
        case ["bool", "0" | "1" as bit]:
            return bit == "1"
        case ["string", data]:
            return _bytes(data).decode()
        case ["none"]:
            return None
    raise _BadCommand("input: unknown kind or wrong number of words")


def _described(value: Any) -> str:
    """Returns the words of an output."""
    torch: Any = import_module("torch")

    match value:
        case None:
            return "none"
        case bool():
            return f"bool {int(value)}"
        case int():
            return f"int {value}"
        case float():
            return "double " + struct.pack(">d", value).hex()
        case str():
            return "string " + _hex(value.encode())
        case torch.Tensor():
            return _described_tensor(value)
    return f"other {type(value).__name__}"


def _described_tensor(tensor: Any) -> str:
    torch: Any = import_module("torch")

    name = str(tensor.dtype).removeprefix("torch.")
    code = next((code for code, known in _DTYPES.items() if known == name), None)
    if code is None:
        return f"other Tensor({name})"
    order = list(range(tensor.dim()))
    if not tensor.is_contiguous():
        strides = tensor.stride()
        order.sort(key=lambda dim: -strides[dim])
    in_memory = tensor.permute(order).contiguous()
    data = bytes(in_memory.reshape(-1).view(torch.uint8).numpy()) if in_memory.numel() else b""
    return f"tensor {code} {_commas(list(tensor.shape))} {_commas(order)} {_hex(data)}"


def _error(error: Exception) -> str:
    """Returns the words of an error, which the package has in its message only."""
    print(f"pte_emit.runner: {error}", file=sys.stderr)
    found = re.search(r"0x:?([0-9a-fA-F]{1,2})\b", str(error))
    code = int(found[1], 16) if found else 0x01
    return f"error 0x{code:02X} {_ERRORS.get(code, 'Unknown')}"


class _Runner:
    """A program, and the method that is loaded."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._program = load()
        self._method: Any = None
        self._inputs: dict[int, Any] = {}
        self._outputs: list[Any] = []

    def answer(self, line: str) -> list[str]:
        """Answers a command."""
        words = line.split(" ")
        match words:
            case ["methods"]:
                return [" ".join(["methods", *map(_quoted, sorted(self._program.method_names))])]
            case ["load", name]:
                self._method, self._inputs, self._outputs = None, {}, []
                return [self._attempt("load", lambda: self._load_method(_unquoted(name)))]
            case ["input", index, *value] if index.isdecimal():
                if self._method is None:
                    return ["input error 0x02 InvalidState"]
                self._inputs[int(index)] = _input(value)
                return ["input ok"]
            case ["execute"]:
                if self._method is None:
                    return ["execute error 0x02 InvalidState"]
                return [self._attempt("execute", self._execute)]
            case ["outputs"]:
                if self._method is None:
                    return ["outputs error 0x02 InvalidState"]
                outputs = [f"output {index} {_described(value)}" for index, value in enumerate(self._outputs)]
                return [f"outputs {len(outputs)}", *outputs]
        raise _BadCommand("unknown command or wrong number of words")

    def write_recording(self, etdump: str, debug_buffer: str | None) -> None:
        """Writes what the runtime recorded of the program that was loaded last; nothing without an execution."""
        self._program.write_etdump_result_to_file(etdump, debug_buffer)

    def _load_method(self, name: str) -> None:
        # A method of the same program would keep its state.
        self._program = self._load()
        if name not in self._program.method_names:
            raise ValueError(f"there is no method {name!r}: error 0x12")
        self._method = self._program.load_method(name)

    def _execute(self) -> None:
        if sorted(self._inputs) != list(range(len(self._inputs))):
            raise ValueError("inputs are missing: error 0x12")
        inputs = [self._inputs[index] for index in range(len(self._inputs))]
        self._outputs = list(self._method.execute(inputs))

    @staticmethod
    def _attempt(command: str, step: Callable[[], None]) -> str:
        try:
            step()
        except (RuntimeError, ValueError, TypeError, KeyError) as error:
            return f"{command} {_error(error)}"
        return f"{command} ok"


# Bytes of the values that are recorded, unless --debug-buffer-size is given.
_DEBUG_BUFFER = 64 << 20

_USAGE = "MODEL.pte [--data FILE.ptd] [--verify full|minimal] [--etdump FILE [--debug-buffer FILE [--debug-buffer-size BYTES]]]"


class _Arguments(NamedTuple):
    """The command line."""

    model: Path
    data: list[Path]
    is_verified: bool
    # Files that are written at the end, and the size of the second one.
    etdump: str | None
    debug_buffer: str | None
    debug_buffer_size: int


def _parsed(arguments: list[str]) -> _Arguments:
    """Returns the arguments.

    >>> _parsed(["m.pte", "--data", "w.ptd"])[:4]
    (PosixPath('m.pte'), [PosixPath('w.ptd')], True, None)
    """
    model, data, is_verified = None, [], True
    etdump, debug_buffer, size = None, None, _DEBUG_BUFFER
    words = iter(arguments)
    for word in words:
        if word == "--data":
            data.append(Path(next(words, "")))
        elif word == "--verify":
            is_verified = next(words, "") != "minimal"
        elif word == "--etdump":
            etdump = next(words, "")
        elif word == "--debug-buffer":
            debug_buffer = next(words, "")
        elif word == "--debug-buffer-size":
            number = next(words, "")
            if not number.isdecimal():
                raise SystemExit(f"pte_emit.runner: --debug-buffer-size {number!r}: expected a number of bytes")
            size = int(number)
        elif model is None and not word.startswith("--"):
            model = Path(word)
        else:
            raise SystemExit(f"pte_emit.runner: unexpected argument {word!r}; expected {_USAGE}")
    if model is None or (etdump is None and debug_buffer is not None):
        raise SystemExit(f"pte_emit.runner: expected {_USAGE}")
    return _Arguments(model, data, is_verified, etdump, debug_buffer, size)


def _runtime() -> Any:
    """Imports the runtime, and compares its release."""
    try:
        version = metadata.version("executorch").partition("+")[0]
    except metadata.PackageNotFoundError:
        raise SystemExit(f"pte_emit.runner: ExecuTorch is not installed for {sys.executable}: pip install 'pte-emit[runtime]'") from None
    if version != EXECUTORCH:
        print(f"pte_emit.runner: warning: this is ExecuTorch {version}; pte-emit writes files for {EXECUTORCH}", file=sys.stderr)
    warnings.simplefilter("ignore")
    try:
        return import_module("executorch.runtime")
    except ImportError as error:
        message = f"ExecuTorch {version} has no runtime that can be imported ({error}); pip install executorch=={EXECUTORCH}"
        raise SystemExit(f"pte_emit.runner: {message}") from error


def main(arguments: list[str]) -> int:
    """Answers the commands on standard input; returns the exit status."""
    parsed = _parsed(arguments)
    data = parsed.data
    # What libraries print is not an answer: it goes to standard error.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)

    def say(line: str) -> None:
        answers.write(line + "\n")
        answers.flush()

    runtime = _runtime()
    if len(data) > 1:
        print("pte_emit.runner: ExecuTorch's Python package takes one .ptd file; name a runner in C++ for several", file=sys.stderr)
        say("program error 0x10 NotSupported")
        return 1

    def load() -> Any:
        levels = runtime.Verification
        verification = levels.InternalConsistency if parsed.is_verified else levels.Minimal
        # Older releases do not have the option.
        options: dict[str, Any] = {"data_path": data[0]} if data else {}
        if parsed.etdump is not None:
            options |= {"enable_etdump": True, "debug_buffer_size": parsed.debug_buffer_size}
        return runtime.Runtime.get().load_program(parsed.model, verification=verification, **options)

    try:
        runner = _Runner(load)
    except (RuntimeError, TypeError) as error:
        say(f"program {_error(error)}")
        return 1
    say("program ok")
    for line in sys.stdin:
        if line.strip():
            try:
                lines = runner.answer(line.rstrip("\n"))
            except (_BadCommand, ValueError) as error:
                print(f"pte_emit.runner: {error}", file=sys.stderr)
                say("bad command")
                return 2
            for answer in lines:
                say(answer)
    if parsed.etdump is not None:
        runner.write_recording(parsed.etdump, parsed.debug_buffer)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Files for the runtimes, with inputs for each method, and the answers to them."""

import pathlib
import re
import struct
import subprocess
import sys

from runtime import REPOSITORY

# Bytes of the number 1, by the code of the element type.
ONE = {
    0: "01", 1: "01", 2: "0100", 3: "01000000", 4: "0100000000000000", 5: "003c", 6: "0000803f", 7: "000000000000f03f",
    8: "003c0000", 9: "0000803f00000000", 10: "000000000000f03f0000000000000000", 11: "01", 12: "01", 13: "01", 14: "01000000", 15: "803f",
    16: "01", 17: "01", 18: "01", 19: "01", 20: "01", 21: "0100", 22: "3c", 23: "38", 24: "40", 25: "40", 26: "7f",
    27: "0100", 28: "01000000", 29: "0100000000000000",
}  # fmt: skip

ERRORS = {
    0x01: "Internal", 0x02: "InvalidState", 0x03: "EndOfMethod", 0x04: "AlreadyLoaded", 0x10: "NotSupported", 0x11: "NotImplemented",
    0x12: "InvalidArgument", 0x13: "InvalidType", 0x14: "OperatorMissing", 0x15: "RegistrationExceedingMaxKernels",
    0x16: "RegistrationAlreadyRegistered", 0x20: "NotFound", 0x21: "MemoryAllocationFailed", 0x22: "AccessFailed", 0x23: "InvalidProgram",
    0x24: "InvalidExternalData", 0x25: "OutOfResources", 0x30: "DelegateInvalidCompatibility", 0x31: "DelegateMemoryAllocationFailed",
    0x32: "DelegateInvalidHandle",
}  # fmt: skip


class Table:
    """Table of a FlatBuffer."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.vtable = at - struct.unpack_from("<i", data, at)[0]

    def place(self, slot):
        offset = 4 + 2 * slot
        size = struct.unpack_from("<H", self.data, self.vtable)[0]
        found = struct.unpack_from("<H", self.data, self.vtable + offset)[0] if offset < size else 0
        return self.at + found if found else None

    def number(self, slot, kind, default=0):
        place = self.place(slot)
        return default if place is None else struct.unpack_from("<" + kind, self.data, place)[0]

    def target(self, slot):
        place = self.place(slot)
        return None if place is None else place + struct.unpack_from("<I", self.data, place)[0]

    def table(self, slot):
        return Table(self.data, self.target(slot))

    def numbers(self, slot, kind):
        at = self.target(slot)
        if at is None:
            return []
        count = struct.unpack_from("<I", self.data, at)[0]
        return list(struct.unpack_from(f"<{count}{kind}", self.data, at + 4))

    def tables(self, slot):
        at = self.target(slot)
        places = [] if at is None else [at + 4 + 4 * index for index in range(struct.unpack_from("<I", self.data, at)[0])]
        return [Table(self.data, place + struct.unpack_from("<I", self.data, place)[0]) for place in places]

    def text(self, slot):
        at = self.target(slot)
        length = 0 if at is None else struct.unpack_from("<I", self.data, at)[0]
        return self.data[at + 4 : at + 4 + length].decode() if length else ""


def commas(numbers):
    return ",".join(map(str, numbers)) or "-"


def value(item, fill):
    """Value of an input of the protocol; tensors have `fill` in each element."""
    kind = item.number(0, "B")
    if item.target(1) is None:
        return "none"
    content = item.table(1)
    if kind == 2:
        return f"int {content.number(0, 'q')}"
    if kind == 3:
        return f"bool {content.number(0, 'B')}"
    if kind == 4:
        return f"double {content.number(0, 'd')!r}"
    if kind != 5:
        return "none"
    code = content.number(0, "b")
    sizes, order = content.numbers(2, "i"), content.numbers(3, "B")
    if code not in ONE or len(sizes) != len(order) or any(size < 0 for size in sizes):
        return "none"
    return f"tensor {code} {commas(sizes)} {commas(order)} {ONE[code] if fill else '00'}"


def methods(data, fill=True):
    """(name, values of inputs) of each method of a valid program."""
    found = []
    for plan in Table(data, struct.unpack_from("<I", data)[0]).tables(1):
        values = plan.tables(2)
        inputs = [value(values[index], fill) if index < len(values) else "none" for index in plan.numbers(3, "i")]
        found.append((plan.text(0), inputs))
    return found


def data_files(path):
    """The `.ptd` files of a program: those that begin with its name, or all of a folder whose files are named otherwise."""
    if path.suffix != ".pte":
        return []
    own = lambda program: [other for other in sorted(program.parent.glob("*.ptd")) if other.stem.split("__")[0] == program.stem]
    if any(own(program) for program in path.parent.glob("*.pte")):
        return own(path)
    return sorted(path.parent.glob("*.ptd"))


class Case:
    """A program, its `.ptd` files, and inputs for its methods."""

    def __init__(self, name, program, data=(), inputs=(), notes=""):
        self.name, self.program, self.data, self.inputs, self.notes = name, program, list(data), list(inputs), notes

    def job(self, **options):
        lines = [f"program {self.program}", *(f"data {path}" for path in self.data)]
        for name, values in self.inputs:
            lines += [f"method {name}", *(f"input {value}" for value in values)]
        return "\n".join(lines + [f"{key} {value}" for key, value in options.items()] + ["run", ""])


class Answer:
    """First error of a runtime, in the words of the malformed examples: `accepts`, `STEP ERROR`, `crashes`,
    `hangs`; `unable` if the release has no functions for so many `.ptd` files."""

    def __init__(self, lines):
        self.log = [line[4:] for line in lines if line.startswith("log ")]
        self.values = [line[6:] for line in lines if line.startswith("value ")]
        self.raw = next(line[7:] for line in lines if line.startswith("answer "))
        words = self.raw.split()
        self.hash = words[1] if words[0] == "ok" else None
        self.step = words[-1] if words[0] in ("signal", "timeout", "exit") else words[0]
        self.number = int(words[1], 16) if len(words) == 2 and words[1].startswith("0x") else None
        plain = {"ok": "accepts", "signal": "crashes", "timeout": "hangs", "exit": "crashes", "unable": "unable"}
        self.text = plain.get(words[0])
        if self.text is None:
            self.text = f"{words[0]} {ERRORS.get(self.number, words[1])}"


def ask(runtime, cases, valid, **options):
    """The answers of a runtime to cases."""
    lines = runtime.ask("".join(case.job(**options) for case in cases), valid)
    return [Answer(answer) for answer in lines]


def tool():
    """The assembler, which must have been built."""
    found = [REPOSITORY / "target" / profile / "pte-emit" for profile in ("release", "debug")]
    found = [path for path in found if path.exists()]
    if not found:
        sys.exit("pte-emit is missing: cargo build --locked")
    return max(found, key=lambda path: path.stat().st_mtime)


def assemble(source, target, text=None, options=()):
    """Assembles a file, or its text in place of it; the message of an error, or None."""
    target.parent.mkdir(parents=True, exist_ok=True)
    input_of = {"input": text, "cwd": source.parent} if text is not None else {}
    name = "-" if text is not None else source
    done = subprocess.run([tool(), name, "-o", target, *options], capture_output=True, text=True, **input_of)
    return None if done.returncode == 0 else done.stderr


def written(folder, programs):
    """The cases of (name, YAML), assembled in a folder."""
    found = []
    for name, text in programs:
        target = folder / name / "model.pte"
        source = target.with_suffix(".yaml")
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        error = assemble(source, target)
        if error:
            sys.exit(f"{source}: {error}")
        found.append(Case(name, target, sorted(target.parent.glob("*.ptd")), methods(target.read_bytes())))
    return found


def without_raw(text):
    """The text of a malformed example without the bytes that it overrides."""
    return re.sub(r"^raw:\n(?:[ #].*\n|\n)*", "", text, flags=re.M)


class Example:
    """A malformed example; `answers` are those of the newest release, by the mode of loading."""

    def __init__(self, path, folder):
        self.name = path.stem
        text = path.read_text()
        parts = text.split("\n", 1)[0].removeprefix("# ").split(" | ")
        self.rule, self.defect = parts[:2]
        self.answers = {}
        for part in parts[2:]:
            mode, answer = part.split(": ")
            self.answers[mode] = answer.split(" or ")
        self.runs = "verified" in self.answers
        if not self.runs:
            return
        target = folder / path.stem / "model.pte"
        error = assemble(path, target)
        if error:
            sys.exit(f"{path}: {error}")
        plain = folder / "plain" / path.stem / "model.pte"
        inputs = []
        if assemble(path, plain, without_raw(text)) is None:
            inputs = methods(plain.read_bytes(), fill=False)
        data = sorted(target.parent.glob("*.ptd"))
        self.case = Case(self.name, target, data, inputs)


def malformed(folder):
    paths = sorted((REPOSITORY / "examples/malformed").rglob("*.yaml"))
    return [example for example in (Example(path, folder) for path in paths) if example.runs]


def valid_program(folder):
    target = folder / "valid.pte"
    error = assemble(REPOSITORY / "examples/add.yaml", target)
    if error:
        sys.exit(error)
    return target

"""Programs rewritten by `--for-runtime` in the runtimes that they are rewritten for: the outputs of the original in the newest release, bit for bit.

    rewritten.py [--releases 0.7.0,1.0.1] [--json FILE] [FILE...]

FILE is a `.pte` that the newest release runs, or YAML; by default all examples and the programs in tests/golden/upstream. Inputs are random, the
same for both. Kernels and XNNPACK of an older release may round in another way than those of the newest one: if the outputs differ, those of the
original in the older release count, if it runs there. Prints a line for each release, then what differs; status 1 if a rewritten file does not
run, or has other outputs by more than `ROUNDING`.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

import cases
from runtime import NEWEST, RELEASES, REPOSITORY, Runtime

# Largest difference of an output by rounding in other kernels, for inputs up to 2, if the original does not run in the older release or has wrong
# outputs there: releases before 0.6 ignore the keys of constants in payloads.
ROUNDING = 1e-5

FLOATS = {5: "e", 6: "f", 7: "d"}
INTS = {0: "B", 1: "b", 2: "h", 3: "i", 4: "q", 27: "H", 28: "I", 29: "Q"}


def default_files():
    upstream = REPOSITORY / "tests/golden/upstream"
    folders = ["bytes", "bounds", "programs", "releases/1.4.1-flatbuffers-24.3.25", "releases/1.5.1-*"]
    found = [path for folder in folders for top in sorted(upstream.glob(folder)) for path in sorted(top.rglob("*.pte"))]
    return [*sorted((REPOSITORY / "examples").glob("*.yaml")), *found]


def tensor(item, numbers, kind):
    """A tensor of the protocol with random elements."""
    code, sizes, order = item.number(0, "b"), item.numbers(2, "i"), item.numbers(3, "B")
    if code not in cases.ONE or len(sizes) != len(order) or any(size < 0 for size in sizes):
        return "none"
    count = 1
    for size in sizes:
        count *= size
    if kind != "random":
        element = cases.ONE[code] if kind == "ones" else "00"
    elif code in FLOATS:
        element = b"".join(struct.pack(f"<{FLOATS[code]}", numbers.uniform(-2, 2)) for _ in range(count)).hex()
    elif code in INTS:
        element = b"".join(struct.pack(f"<{INTS[code]}", numbers.randrange(4)) for _ in range(count)).hex()
    elif code == 11:
        element = bytes(numbers.randrange(2) for _ in range(count)).hex()
    elif code == 15:
        halves = (struct.pack("<f", numbers.uniform(-2, 2))[2:] for _ in range(count))
        element = b"".join(halves).hex()
    else:
        element = cases.ONE[code]
    return f"tensor {code} {cases.commas(sizes)} {cases.commas(order)} {element or '-'}"


def inputs(data, kind):
    """(name, values of inputs) of each method."""
    numbers, found = random.Random(1), []
    for plan in cases.Table(data, struct.unpack_from("<I", data)[0]).tables(1):
        values = plan.tables(2)
        items = [values[index] for index in plan.numbers(3, "i") if 0 <= index < len(values)]
        is_tensor = lambda item: item.number(0, "B") == 5 and item.target(1) is not None
        found.append((plan.text(0), [tensor(item.table(1), numbers, kind) if is_tensor(item) else cases.value(item, True) for item in items]))
    return found


class File:
    """A file with what the newest release answers to it."""

    def __init__(self, path, folder):
        self.path, self.error = path, None
        try:
            self.name = str(path.relative_to(REPOSITORY))
        except ValueError:
            self.name = str(path)
        folder = folder / re.sub(r"\W", "_", self.name)
        self.data = [] if path.suffix != ".pte" else sorted(path.parent.glob("*.ptd"))
        self.case = None
        if path.suffix == ".pte":
            program, data = path, self.data
        else:
            program = folder / "model.pte"
            self.error = cases.assemble(path, program, options=["--quiet"])
            data = sorted(folder.glob("*.ptd"))
        if self.error is None and program.exists():
            self.program, self.files = program, data
            self.kinds = {kind: inputs(program.read_bytes(), kind) for kind in ("random", "ones", "zeros")}

    def runs(self, newest, valid):
        """Finds inputs that the newest release takes."""
        if self.error or not hasattr(self, "kinds"):
            return False
        for kind, values in self.kinds.items():
            case = cases.Case(self.name, self.program, self.files, values)
            answer = cases.ask(newest, [case], valid, values="yes")[0]
            if answer.hash:
                self.values, self.answer, self.kind = values, answer, kind
                return True
        self.error = answer.raw
        return False

    def rewritten(self, release, folder):
        """The case of the file rewritten for a release, or the message of the error."""
        folder = folder / release / re.sub(r"\W", "_", self.name)
        target = folder / "model.pte"
        options = ["--quiet", "--for-runtime", release]
        error = cases.assemble(self.path, target, options=options)
        if error is None and self.data:
            for path in self.data:
                error = error or cases.assemble(path, folder / path.name, options=options)
        if error is not None:
            return None, error
        return cases.Case(self.name, target, sorted(folder.glob("*.ptd")), self.values), None


def reason(message):
    """What a release cannot express, without names."""
    found = re.findall(r"not in ExecuTorch [\d.]+: (?:[\w.\[\]\"]+: )?(.*)", message)
    words = sorted({re.sub(r", which .*|, of which .*|`[^`]*` of (\w+) for ", r"\1 ", text) for text in found})
    return "; ".join(words) or message.splitlines()[0]


def deviation(one, other):
    """The largest difference of two lists of outputs; None if they have other forms."""
    largest = 0.0
    for left, right in zip(one, other, strict=False):
        a, b = left.split(), right.split()
        if a[:4] != b[:4] or a[0] != "tensor" or int(a[1]) not in FLOATS:
            if left != right:
                return None
            continue
        kind = FLOATS[int(a[1])]
        read = lambda text: [x[0] for x in struct.iter_unpack(f"<{kind}", bytes.fromhex(text))] if text not in ("-", "null") else []
        for x, y in zip(read(a[4]), read(b[4]), strict=True):
            if x != y and not (x != x and y != y):
                largest = max(largest, abs(x - y))
    return largest


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--releases", default=",".join(release for release in RELEASES if release != NEWEST))
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        valid = cases.valid_program(folder)
        newest = Runtime(NEWEST)
        files = [File(path.resolve(), folder) for path in arguments.files or default_files()]
        files = [file for file in files if file.runs(newest, valid)]
        print(f"{len(files)} files run in {NEWEST}, {sum(file.kind == 'random' for file in files)} of them with random inputs")
        failed, table = False, {}
        for release in arguments.releases.split(","):
            failed |= compare(release, files, folder, valid, table)
        if arguments.json:
            arguments.json.write_text(json.dumps(table, indent=1) + "\n")
    sys.exit(failed)


def result(file, answer, original):
    """One word, and what differs: the answer to the rewritten file, and that to the original, in the same release."""
    if answer.hash == file.answer.hash:
        return "equal"
    if answer.text == "unable":
        return "unable"
    if answer.hash is None:
        return f"fails: {answer.raw}: {'; '.join(answer.log[-2:])}"
    largest = deviation(file.answer.values, answer.values)
    by = "in other values" if largest is None else f"by {largest:.2g}"
    if answer.hash == original.hash:
        return f"kernels: the original differs there {by}, too"
    if largest is not None and largest <= ROUNDING:
        return f"rounding: differs {by}; original there: {original.raw}"
    return f"differs: {by}; original there: {original.raw}"


def compare(release, files, folder, valid, table):
    """Compares the outputs of all files in a release; returns whether one is wrong."""
    refused, jobs = {}, []
    for file in files:
        case, error = file.rewritten(release, folder)
        if case is None:
            refused[file.name] = reason(error)
        else:
            jobs.append((file, case))
    runtime = Runtime(release)
    answers = cases.ask(runtime, [case for _, case in jobs], valid, values="yes")
    others = cases.ask(runtime, [cases.Case(file.name, file.program, file.files, file.values) for file, _ in jobs], valid)
    judged = zip(jobs, answers, others, strict=True)
    results = {file.name: result(file, answer, original) for (file, _), answer, original in judged}
    word = lambda text: text.split(":")[0]
    counts = collections.Counter(map(word, results.values()))
    newly = sum(word(results[file.name]) in ("equal", "rounding") and original.hash is None for (file, _), original in zip(jobs, others, strict=True))
    print(
        f"{release}: {len(jobs)} rewritten: {counts['equal']} equal, {counts['kernels']} as the original there, {counts['rounding']} by rounding, "
        f"{counts['unable']} need functions for .ptd files, {counts['fails'] + counts['differs']} wrong; {newly} run that did not; {len(refused)} refused"
    )
    for name, text in sorted(results.items()):
        if word(text) not in ("equal", "unable"):
            print(f"  {name}: {text}")
    for text, count in collections.Counter(refused.values()).most_common():
        print(f"  {count} refused: {text}")
    table[release] = {"results": results, "refused": refused}
    return counts["fails"] + counts["differs"] > 0


if __name__ == "__main__":
    main()

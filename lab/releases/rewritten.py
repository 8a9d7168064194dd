"""Programs rewritten by `--for-runtime` in the runtimes that they are written for: the outputs of the original in the newest release, bit for bit.

    rewritten.py [--releases 0.7.0,1.0.1] [--generated N] [--json FILE] [PATH...]
    rewritten.py --without OPERATOR,... [--json FILE] [PATH...]

PATH is a `.pte` that the newest release runs, YAML, or a folder of `.pte` files. By default: all examples, the programs in tests/golden, and N
programs of `pte-emit generate`. Files with equal bytes are one. Inputs are random, the same for both. The second form writes for the newest
release without some operators, and runs that.

Kernels and XNNPACK of an older release may round in another way than those of the newest one: if the outputs differ, those of the original in the
older release count, if it runs there. Prints a line for each release, what differs, and how many files and pairs of file and release are equal;
status 1 if a rewritten file does not run, or has other outputs by more than `ROUNDING`.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import cases
from runtime import NEWEST, RELEASES, REPOSITORY, Runtime

TABLES = REPOSITORY / "crates/pte-releases/releases"

# Seed of the generated programs.
SEED = 32

# Largest difference of an output by rounding in other kernels, for inputs up to 2, if the original does not run in the
# older release or has wrong outputs there: releases before 0.6 ignore the keys of constants in payloads.
ROUNDING = 1e-5

FLOATS = {5: "e", 6: "f", 7: "d"}
INTS = {0: "B", 1: "b", 2: "h", 3: "i", 4: "q", 27: "H", 28: "I", 29: "Q"}


def default_files(folder, generated):
    examples = sorted((REPOSITORY / "examples").glob("*.yaml"))
    return [*examples, REPOSITORY / "tests/golden", *([generated_programs(folder, generated)] if generated else [])]


def generated_programs(folder, count):
    """A folder of random programs."""
    target = folder / "generated"
    command = [cases.tool(), "generate", "--seed", SEED, "--count", count, "--to", "pte", "-o", target]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return target


def programs(paths):
    """The files of paths; of folders, those with other bytes than the ones before."""
    seen, found = set(), []
    for path in paths:
        for file in sorted(path.rglob("*.pte")) if path.is_dir() else [path]:
            content = (file.read_bytes(), *(other.read_bytes() for other in cases.data_files(file)))
            if content not in seen:
                seen.add(content)
                found.append(file.resolve())
    return found


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


# Elements of inputs: the first kind that the newest release takes is used.
KINDS = ["random", "ones", "zeros"]


def find_inputs(files, newest, valid):
    """The files that the newest release runs, with inputs that it takes and its answer."""
    for kind in KINDS:
        left = [file for file in files if file.kinds and file.kind is None]
        for file, answer in zip(left, cases.ask(newest, [file.original(kind) for file in left], valid, values="yes"), strict=True):
            if answer.hash:
                file.kind, file.answer = kind, answer
    return [file for file in files if file.kind]


class File:
    """A file with what the newest release answers to it."""

    def __init__(self, path, folder):
        self.path, self.kind = path, None
        top = next((top for top in (folder, REPOSITORY) if path.is_relative_to(top)), "/")
        self.name = str(path.relative_to(top))
        folder = folder / re.sub(r"\W", "_", self.name)
        self.data = cases.data_files(path)
        self.kinds, self.is_changed = {}, {}
        self.program, self.files = path, self.data
        if path.suffix != ".pte":
            self.program = folder / "model.pte"
            cases.assemble(path, self.program, options=["--quiet"])
            self.files = sorted(folder.glob("*.ptd"))
        if self.program.exists():
            program = self.program
            self.kinds = {kind: inputs(program.read_bytes(), kind) for kind in KINDS}

    def original(self, kind):
        return cases.Case(self.name, self.program, self.files, self.kinds[kind])

    def rewritten(self, release, folder):
        """The case of the file rewritten for a release, a version or a folder of tables, or the message of the error."""
        folder = folder / pathlib.Path(release).name / re.sub(r"\W", "_", self.name)
        target = folder / "model.pte"
        options = ["--quiet", "--for-runtime", release]
        error = cases.assemble(self.path, target, options=options)
        if error is None and self.data:
            for path in self.data:
                error = error or cases.assemble(path, folder / path.name, options=options)
        if error is not None:
            return None, error
        self.is_changed[release] = target.read_bytes() != self.program.read_bytes()
        return cases.Case(self.name, target, sorted(folder.glob("*.ptd")), self.kinds[self.kind]), None


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


def build_without(operators, folder):
    """Tables of the newest release without operators."""
    target = folder / f"{NEWEST}-without"
    shutil.copytree(TABLES / NEWEST, target)
    table = target / "operators.table"
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(line for line in lines if line.split()[0] not in operators))
    return str(target)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--releases", default=",".join(release for release in RELEASES if release != NEWEST))
    parser.add_argument("--without", metavar="OPERATOR,...")
    parser.add_argument("--generated", type=int, default=60, metavar="N")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        valid = cases.valid_program(folder)
        newest = Runtime(NEWEST)
        tried = [File(path, folder) for path in programs(arguments.paths or default_files(folder, arguments.generated))]
        files = find_inputs(tried, newest, valid)
        random = sum(file.kind == "random" for file in files)
        print(f"{len(tried)} files, {len(files)} run in {NEWEST}, {random} of them with random inputs", flush=True)
        table = {}
        if arguments.without:
            pairs = [(NEWEST, build_without(arguments.without.split(","), folder))]
        else:
            pairs = [(release, release) for release in arguments.releases.split(",")]
        failed = [compare(Runtime(release), newest, target, files, folder, valid, table) for release, target in pairs]
        print_sum(files, table)
        if arguments.json:
            arguments.json.write_text(json.dumps(table, indent=1) + "\n")
    sys.exit(any(failed))


def print_sum(files, table):
    """Prints how many files and pairs are equal."""
    equal = {release: {name for name, text in found["results"].items() if text == "equal"} for release, found in table.items()}
    changed = {release: {file.name for file in files if file.is_changed.get(release)} for release in table}
    count = lambda sets: f"{sum(map(len, sets))} pairs, {len(set().union(*sets))} files"
    print(f"bit-equal: {count(equal.values())}; with other bytes than the original: {count([equal[one] & changed[one] for one in table])}")


def result(file, answer, original, again, release):
    """One word, and what differs: the answer to the rewritten file, that to the original in the same release, and that to the rewritten file in
    the newest one."""
    if answer.hash == file.answer.hash:
        return "equal"
    if answer.text == "unable":
        return "unable"
    there = f"; original there: {original.raw}; rewritten in {NEWEST}: {'equal' if again.hash == file.answer.hash else 'differs'}"
    if answer.hash is None:
        return f"fails: {answer.raw}: {'; '.join(answer.log[-2:])}{there}"
    largest = deviation(file.answer.values, answer.values)
    by = "in other values" if largest is None else f"by {largest:.2g}"
    if answer.hash == original.hash:
        return f"kernels: the original differs there {by}, too"
    if largest is not None and largest <= ROUNDING:
        return f"rounding: differs {by}{there}"
    return f"differs: {by}{there}"


def compare(runtime, newest, release, files, folder, valid, table):
    """Compares the outputs of all files rewritten for a release; returns whether one is wrong."""
    refused, jobs = {}, []
    for file in files:
        case, error = file.rewritten(release, folder)
        if case is None:
            refused[file.name] = reason(error)
        else:
            jobs.append((file, case))
    answers = cases.ask(runtime, [case for _, case in jobs], valid, values="yes")
    others = cases.ask(runtime, [file.original(file.kind) for file, _ in jobs], valid)
    again = cases.ask(newest, [case for _, case in jobs], valid)
    judged = zip(jobs, answers, others, again, strict=True)
    results = {file.name: result(file, *found, runtime.release) for (file, _), *found in judged}
    word = lambda text: text.split(":")[0]
    counts = collections.Counter(map(word, results.values()))
    newly = sum(word(results[file.name]) in ("equal", "rounding") and original.hash is None for (file, _), original in zip(jobs, others, strict=True))
    print(
        f"{pathlib.Path(release).name}: {len(jobs)} rewritten: {counts['equal']} equal, {counts['kernels']} as the original there, {counts['rounding']} by rounding, "
        f"{counts['unable']} need functions for .ptd files, {counts['fails'] + counts['differs']} wrong; {newly} run that did not; {len(refused)} refused",
        flush=True,
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

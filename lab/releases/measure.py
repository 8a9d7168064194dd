"""Measures what the releases of ExecuTorch run, and writes the tables of `crates/pte-releases/releases` (README.md next to this file).

    measure.py [--sources REPOSITORY] [--only TABLE] [--example NAME]... [RELEASE...]
    measure.py [--sources REPOSITORY] --matrix FOLDER... [--output FILE]

The second form runs all programs below folders on all releases, and writes the answers; with --output, it prints how many there are by folder, and
how they compare with `check --runtime`. With --example, the answers to these malformed examples alone are measured, and the others stay.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import calls
import cases
import compare
import features
import types_sample as types
import xnnpack
from runtime import NEWEST, RELEASES, REPOSITORY, Runtime, dynamic, libraries, package, package_facts, unpacked

TABLES = REPOSITORY / "crates/pte-releases/releases"
NAMES = ["release", "operators", "backends", "answers", "features", "xnnpack", "types"]
# Properties that are measured with a guarded heap, too.
STRICT = ["method.without_container", "delegates.without_options", "payload.other_number_of_sizes", "payload.prelu_of_named_constant"]
STRICTLY = [{"guards": "yes"}, {"guards": "yes", "heap": "yes"}, {"metadata": "yes"}]
MODES = {"verified": "full", "unverified": "minimal"}


def write(release, name, how, lines, others=False):
    """Writes a table: a comment, and sorted lines. What was measured with `--sources`, and cannot be without, stays; with `others`, all that was not measured."""
    folder = TABLES / release
    folder.mkdir(parents=True, exist_ok=True)
    key = lambda line: line.split(" ")[0 : 2 if name == "answers" else 1]
    before = (folder / f"{name}.table").read_text().splitlines() if (folder / f"{name}.table").exists() else []
    known = {tuple(key(line)): line for line in before}
    lines = [known.get(tuple(key(line)), line) if line.endswith(" unable") else line for line in lines]
    if others:
        measured = {tuple(key(line)) for line in lines}
        lines += [line for line in before if not line.startswith("#") and tuple(key(line)) not in measured]
    text = "".join(f"{line}\n" for line in [f"# {how} Written by lab/releases/measure.py.", *sorted(lines)])
    (folder / f"{name}.table").write_text(text)


class Measurement:
    """What is run on all releases, and the outputs of the newest one."""

    def __init__(self, folder, names=None):
        self.folder = folder
        self.names = names
        self.valid = cases.valid_program(folder)
        self.newest = Runtime(NEWEST)
        self.examples = None
        self.properties = {}
        self.calls = self.executed = None

    def ask(self, runtime, items, **options):
        return cases.ask(runtime, items, self.valid, **options)

    def release(self, runtime):
        facts = package_facts(runtime.release)
        lines = [f"{key} {value}" for key, value in facts.items()]
        found = self.facts(runtime)
        lines.append(f"data_files {next(line for line in found if line.startswith('data ')).split()[1]}")
        log = self.ask(runtime, [cases.Case("valid", self.valid)])[0].log
        lines.append(f"verifier {'no' if any('verification requested but not available' in line for line in log) else 'yes'}")
        return "The package, and what its runtime can do.", lines

    def facts(self, runtime):
        return runtime.ask("facts\n", self.valid)[0]

    def operators(self, runtime):
        lines = [line.removeprefix("operator ") for line in self.facts(runtime) if line.startswith("operator ")]
        names = ", ".join(path.name.split(".")[0] for path in libraries(unpacked(runtime.release)))
        return f"NAME KERNELS: registered by {names}.", lines

    def backends(self, runtime):
        return "Registered backends.", [line.removeprefix("backend ") for line in self.facts(runtime) if line.startswith("backend ")]

    def malformed(self):
        if self.examples is None:
            self.examples = [example for example in cases.malformed(self.folder) if not self.names or example.name in self.names]
        return self.examples

    def answers_of(self, runtime, guards):
        """The set of answers of each example, by the mode of loading; `guards` is an item for each run."""
        items = [example.case for example in self.malformed()]
        found = {mode: [set() for _ in items] for mode in MODES}
        for mode, verify in MODES.items():
            for guard in guards:
                for at, answer in enumerate(self.ask(runtime, items, verify=verify, guards=guard)):
                    found[mode][at].add(answer.text)
            # Files that the newest release runs harm others without a trace.
            valid = [at for at, example in enumerate(self.malformed()) if example.rule == "none"]
            for options in STRICTLY:
                for at, answer in zip(valid, self.ask(runtime, [items[at] for at in valid], verify=verify, **options)):
                    found[mode][at].add(answer.text)
        return found

    def answers(self, runtime):
        # Three times: what depends on memory that is not initialized differs.
        found = self.answers_of(runtime, ["no", "no", "no", "yes"])
        lines = []
        for at, example in enumerate(self.malformed()):
            sets = {mode: found[mode][at] for mode in MODES}
            answers = " | ".join(" or ".join(sorted(sets[mode])) for mode in MODES)
            lines.append(f"{example.rule} {example.name} {answers}")
        how = (
            "RULE EXAMPLE VERIFIED | UNVERIFIED: answers to the malformed examples, by the rule that they violate; `or` separates those of several "
            "runs, one of them with pages behind each allocation that cannot be accessed."
        )
        return how, lines

    def property_lines(self, runtime, name, make):
        if name not in self.properties:
            items = make(self.folder)
            self.properties[name] = items, self.ask(self.newest, items, values="yes", executions=2)
        items, newest = self.properties[name]
        answers = self.ask(runtime, items, values="yes", executions=2)
        found = [answer_with_outputs(answer, other) for answer, other in zip(answers, newest)]
        # What an older release reads beyond its memory, or after it has freed it, often has no effect.
        strict = [at for at, item in enumerate(items) if item.name in STRICT or "/" in item.name]
        for options in STRICTLY:
            for at, answer in zip(strict, self.ask(runtime, [items[at] for at in strict], **options)):
                found[at] = "crashes" if answer.text == "crashes" else found[at]
        return [f"{item.name} {answer}" for item, answer in zip(items, found)]

    def features(self, runtime):
        how = (
            f"FEATURE ANSWER: `reads`; `ignores` if it runs with other outputs than {NEWEST}; the step and the error; `crashes`; "
            "`unable` if the package has no functions for such files. CONDITION/OPERATOR ANSWER: calls that are not executed as by others."
        )
        refused = [line for line in self.property_lines(runtime, "calls", calls.cases) if not line.endswith((" reads", " OperatorMissing"))]
        return how, self.property_lines(runtime, "features", features.cases) + refused

    def xnnpack(self, runtime):
        how = (
            "OPERATION ANSWER: what XnnpackBackend runs, by operation, element type (`type.`) and property of the payload (`payload.`); answers as in "
            "features.table, on a processor with AVX2."
        )
        return how, self.property_lines(runtime, "xnnpack", xnnpack.cases)

    def types(self, runtime):
        if self.calls is None:
            self.calls = types.cases(self.folder)
            self.executed = self.ask(self.newest, [case for case, _ in self.calls])
        answers = self.ask(runtime, [case for case, _ in self.calls])
        how = (
            f"Element types of arguments of sampled calls that the kernel does not execute, although that of {NEWEST} does: rows as in "
            "pte-operators/src/releases/v1_5_1/types.table, with all other types."
        )
        return how, types.refused([call for _, call in self.calls], self.executed, answers)


def answer_with_outputs(answer, newest):
    if answer.text != "accepts":
        return answer.text
    return "reads" if newest.text != "accepts" or compare.same(answer.values, newest.values) else "ignores"


def tables(arguments):
    with tempfile.TemporaryDirectory() as folder:
        measurement = Measurement(pathlib.Path(folder), arguments.example)
        chosen = ["answers"] if arguments.example else [arguments.only] if arguments.only else NAMES
        for release in arguments.names or RELEASES:
            runtime = Runtime(release, arguments.sources)
            for name in chosen:
                write(release, name, *getattr(measurement, name)(runtime), others=bool(arguments.example))
            print(f"{release} done", flush=True)


def matrix(arguments):
    """A line for each program: its path, and the answer of each release, with the last lines of the log of those that reject it."""
    found = []
    for folder in map(pathlib.Path, arguments.matrix):
        for path in sorted(folder.rglob("*.pte")):
            found.append(cases.Case(str(path), path, cases.data_files(path), cases.methods(path.read_bytes())))
    result = {case.name: {} for case in found}
    with tempfile.TemporaryDirectory() as folder:
        valid = cases.valid_program(pathlib.Path(folder))
        newest = cases.ask(Runtime(NEWEST), found, valid, values="yes")
        for release in RELEASES:
            for case, answer, other in zip(found, cases.ask(Runtime(release, arguments.sources), found, valid, values="yes"), newest):
                result[case.name][release] = {"answer": answer_with_outputs(answer, other), "log": answer.log[-3:]}
    text = json.dumps(result, indent=1, sort_keys=True) + "\n"
    pathlib.Path(arguments.output).write_text(text) if arguments.output else print(text, end="")
    if arguments.output:
        summary(found, result)


def summary(found, result):
    """Prints, by folder, how many programs a release does not run with the outputs of the newest one; and, of all, what `check --runtime` says of those that run and of the others."""
    folders = sorted({pathlib.Path(case.name).parent for case in found})
    for folder in folders:
        answers = [result[case.name] for case in found if pathlib.Path(case.name).parent == folder]
        counts = [sum(answer[release]["answer"] != "reads" for answer in answers) for release in RELEASES]
        print(f"{folder}: {len(answers)} programs, not run or not tried: {' '.join(f'{release} {count}' for release, count in zip(RELEASES, counts))}")
    pairs = collections.Counter()
    for case in found:
        data = [word for path in case.data for word in ("--with", path)]
        done = subprocess.run([cases.tool(), "check", case.program, "--runtime", "all", "--json", *data], capture_output=True, text=True)
        for file in json.loads(done.stdout)["files"]:
            answer = result[case.name][file["runtime"]]["answer"]
            does = {"reads": "run", "unable": "were not tried"}.get(answer, "do not run")
            pairs[f"{'errors' if file['errors'] else 'no errors'}, {does}"] += 1
    print("\n".join(f"{count} pairs: {what}" for what, count in sorted(pairs.items())))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="RELEASE", choices=[[], *RELEASES])
    parser.add_argument("--only", metavar="TABLE")
    parser.add_argument("--example", metavar="NAME", action="append", help="of a malformed example whose answers are measured; may be repeated")
    parser.add_argument("--sources", metavar="REPOSITORY", help="Git repository of ExecuTorch, for the readers of .ptd files that packages do not have")
    parser.add_argument("--matrix", nargs="+", metavar="FOLDER")
    parser.add_argument("--output", metavar="FILE")
    arguments = parser.parse_args()
    matrix(arguments) if arguments.matrix else tables(arguments)


if __name__ == "__main__":
    main()

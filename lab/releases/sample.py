"""Repeats a sample of the measurement on old releases, and compares it with the recorded tables: exit status 1 with the lines that differ.

    sample.py [RELEASE...]

By default 0.7.0 and 1.0.1: two packages of 11 MB. All tables but that of element types.
"""

import pathlib
import sys
import tempfile

from measure import MODES, TABLES, Measurement
from runtime import Runtime

SAMPLE = ["0.7.0", "1.0.1"]
REPEATED = ["release", "operators", "backends", "features", "xnnpack"]


def recorded(release, name):
    return [line for line in (TABLES / release / f"{name}.table").read_text().splitlines() if not line.startswith("#")]


def different_lines(measurement, runtime, name):
    """(recorded, measured) lines that differ."""
    _, lines = getattr(measurement, name)(runtime)
    # The tables have the answers of a reader of `.ptd` files that the package may not have.
    unable = tuple(line.removesuffix("unable") for line in lines if line.endswith(" unable"))
    before, now = ({line for line in found if not line.startswith(unable)} for found in (recorded(runtime.release, name), lines))
    return [f"recorded: {line}" for line in sorted(before - now)] + [f"measured: {line}" for line in sorted(now - before)]


def different_answers(measurement, runtime):
    """Answers of which none is recorded. Those that depend on the content of memory differ from run to run; with guards, they are crashes."""
    table = {}
    for line in recorded(runtime.release, "answers"):
        _, name, answers = line.split(" ", 2)
        table[name] = dict(zip(MODES, (set(answer.split(" or ")) for answer in answers.split(" | "))))
    found = measurement.answers_of(runtime, ["no", "yes"])
    lines = []
    for at, example in enumerate(measurement.malformed()):
        expected = table.get(example.name, {mode: set() for mode in MODES})
        for mode in MODES:
            if "unable" not in found[mode][at] and found[mode][at].isdisjoint(expected[mode]):
                lines.append(f"{example.name}, {mode}: recorded {sorted(expected[mode])}, measured {sorted(found[mode][at])}")
    return lines


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        measurement = Measurement(pathlib.Path(folder))
        for release in sys.argv[1:] or SAMPLE:
            runtime = Runtime(release)
            for name in REPEATED:
                for line in different_lines(measurement, runtime, name):
                    failures += 1
                    print(f"{release} {name}: {line}")
            for line in different_answers(measurement, runtime):
                failures += 1
                print(f"{release} answers: {line}")
            print(f"{release}: {len(measurement.malformed())} malformed examples, {failures} differences", flush=True)
    sys.exit(1 if failures else 0)


main()

"""Calls of operators with random element types: which types of which arguments a release refuses, although the newest one takes them.

The calls are those of `pte-emit generate`, one in a program, so that all of them are valid for the newest release.
"""

import collections
import pathlib
import struct
import subprocess

from cases import Case, Table, methods, tool
from features import TYPES
from runtime import REPOSITORY

SEED, CALLS = 20261126, 300
# Calls with a type that are executed by the newest release, and none of them by the other one.
LEAST = 3
SIGNATURES = REPOSITORY / "crates/pte-operators/src/releases/v1_5_1/operators.table"


def signatures():
    """Names of the arguments, by operator."""
    lines = [line.split() for line in SIGNATURES.read_text().splitlines()]
    return {words[0]: [word.split(":")[0] for word in words[1:]] for words in lines}


def element_type(values, index):
    """The name of the element type of a tensor, or of the first one of a list."""
    if not 0 <= index < len(values):
        return None
    kind = values[index].number(0, "B")
    if kind == 5:
        return TYPES_BY_CODE.get(values[index].table(1).number(0, "b"))
    items = values[index].table(1).numbers(0, "i") if kind in (10, 12) else []
    return next((element_type(values, item) for item in items if item >= 0), None)


# The last four codes follow those of the list.
TYPES_BY_CODE = dict(enumerate(TYPES))


def call(data):
    """(operator, element types by position) of the only call of a program; None if there are several."""
    plan = Table(data, struct.unpack_from("<I", data)[0]).tables(1)[0]
    values = plan.tables(2)
    instructions = plan.tables(5)[0].tables(2)
    if len(instructions) != 1 or instructions[0].number(0, "B") != 1:
        return None
    kernel = instructions[0].table(1)
    operator = plan.tables(6)[kernel.number(0, "i")]
    name = operator.text(0) + (f".{operator.text(1)}" if operator.text(1) else "")
    return name, [element_type(values, index) for index in kernel.numbers(1, "i")]


def cases(folder):
    """A case for each call, with what it calls."""
    found = []
    for name in sorted(signatures()):
        target = folder / "types" / name.replace(":", "_")
        command = [tool(), "generate", "--seed", str(SEED), "--count", str(CALLS), "--operators", name, "--instructions", "1", "--to", "pte", "-q", "-o", target]
        subprocess.run(command, capture_output=True)
        for path in sorted(target.glob("*.pte")) if target.is_dir() else []:
            data = path.read_bytes()
            found_call = call(data)
            if found_call is not None and found_call[0] == name:
                found.append((Case(str(path), path, [], methods(data)), found_call))
    return found


def refused(calls, newest, answers):
    """Rows of the table of types: types of arguments that no call is executed with, although others of the operator are."""
    names = signatures()
    counts = collections.defaultdict(lambda: [0, 0])
    runs = collections.Counter()
    for (name, types), before, now in zip(calls, newest, answers):
        if before.text != "accepts" or now.text.startswith(("load", "unable")):
            continue
        runs[name] += now.text == "accepts"
        for argument, kind in set(zip(names[name], types)):
            if kind is not None:
                counts[name, argument, kind][0] += 1
                counts[name, argument, kind][1] += now.text == "accepts"
    found = collections.defaultdict(lambda: collections.defaultdict(set))
    for (name, argument, kind), (tried, executed) in counts.items():
        if tried >= LEAST and executed == 0 and runs[name] > 0:
            found[name][argument].add(kind)
    return [f"{name} " + " ".join(f"{argument}:{'|'.join(kind for kind in TYPES if kind not in kinds)}" for argument, kinds in sorted(arguments.items())) for name, arguments in sorted(found.items())]

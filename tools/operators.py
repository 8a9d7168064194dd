#!/usr/bin/env python3
"""Writes src/schema/operators.table from operator schemas as torch states them, one a line, read from a file or stdin.

It only translates; what a signature means for a KernelCall's stack is src/schema/operators.rs's business.
Usage: tools/operators.py SCHEMAS > src/schema/operators.table
"""

import re
import sys

KINDS = {
    "Tensor": "T", "Scalar": "S", "int": "i", "SymInt": "i", "float": "f", "bool": "b", "str": "s",
    "ScalarType": "d", "MemoryFormat": "m",
}
# Four kernels have no torch schema; their stacks are read off the runtime.
WITHOUT_SCHEMA = [
    "executorch_prim::et_view.default self:T size:i[] -> T",
    "executorch_prim::et_copy_index.tensor copy_to:T& copy_from:T index:i ->",
    "executorch_prim::floordiv.int a:i b:i -> i",
    "executorch_prim::mod.int a:i b:i -> i",
]


def split(args):
    depth, part, parts = 0, "", []
    for c in args:
        depth += c in "([{"
        depth -= c in ")]}"
        if c == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [p for p in parts + [part.strip()] if p]


def argument(text):
    m = re.fullmatch(r"(\w+)(\(\w+!\))?(\?)?(\[(\d*)\])?(\?)? (\w+)(?:=(.*))?", text)
    base, written, optional, brackets, count, optional_list, name, default = m.groups()
    kind = KINDS[base] + (optional or "") + ("[]" if brackets else "") + (optional_list or "")
    if default is not None:
        default = default + "0" if default.endswith(".") else default
        default = {"None": "null", "True": "true", "False": "false"}.get(default, default)
        if count and default.lstrip("-").isdigit():
            default = "[" + ",".join([default] * int(count)) + "]"
    return name, kind, bool(written), default


def line(schema):
    m = re.fullmatch(r"([\w:]+(?:\.\w+)?)\((.*)\) -> (.*)", schema)
    name, args, result = m.groups()
    arguments, keyword_only = [], False
    for text in split(args):
        if text == "*":
            keyword_only = True
            continue
        arguments.append((*argument(text), keyword_only))
    # A written argument is an out if it is keyword-only; a positional one is written in place.
    has_out = any(written and keyword for _, _, written, _, keyword in arguments)
    words = []
    for arg, kind, written, default, keyword in arguments:
        mark = "" if not written else "!" if keyword else "&"
        words.append(f"{arg}:{kind}{mark}" + (f"={default}" if default is not None else ""))
    if not has_out:
        words += ["->", KINDS[re.match(r"\w+", result).group()]]
    return " ".join([name] + words)


def main():
    lines = [l.strip() for l in (open(sys.argv[1]) if len(sys.argv) > 1 else sys.stdin)]
    out = [line(l) for l in lines if l and not l.startswith("#")] + WITHOUT_SCHEMA
    print("\n".join(sorted(out, key=lambda l: l.split()[0].encode())))


main()

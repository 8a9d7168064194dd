#!/usr/bin/env python3
"""Writes a table of a release from operator schemas in torch's notation, one a line, of a file or stdin.

    lab/operators.py RUNTIME > crates/pte-operators/src/releases/v1_5_1/operators.table
    lab/operators.py LIBRARIES > crates/pte-operators/src/releases/v1_5_1/libraries.table

RUNTIME has the operators of the default runtime (kernels_optimized, kernels_quantized, prim ops), as torch prints
them with the package executorch: `aten::relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)`. LIBRARIES has
sections: the line `[TARGET]` precedes the operators of the CMake target TARGET. Empty lines and lines that begin with
`#` are ignored. A section has only the operators that a kernel is registered for, thus no functional variants. The
facts for ExecuTorch 1.5.1 are in:

    custom_ops, custom_ops_aot_lib
        names: the strings `llama::NAME.out` and `preprocess::NAME.out` in libcustom_ops_aot_lib.so of the package;
        schemas: torch._C._get_schema after importing custom_ops and op_fallback of executorch.extension.llm.custom_ops
    torchao_ops_executorch
        op_*_executorch.cpp (names) and op_*_aten.cpp (schemas) below torchao/csrc/cpu/shared_kernels of torchao 0.18
    torchao_ops_mps_executorch
        torchao/experimental/ops/mps of torchao 0.18
    cortex_m_ops_lib
        backends/cortex_m/ops/operators.yaml
    cadence_ops_lib
        names: backends/cadence/aot/functions*.yaml, one file for each kind of core; schemas: those of the exporter in
        backends/cadence/aot/ops_registrations.py, or those of the files for operators that it lacks

The script only translates; crates/pte-operators/src/release.rs reads the tables.
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
    sections, out = [("", [])], []
    for l in lines:
        if l.startswith("["):
            sections.append((l, []))
        elif l and not l.startswith("#"):
            sections[-1][1].append(line(l))
    for header, operators in sections:
        if operators and not header:
            operators += WITHOUT_SCHEMA
        out += [header] if header else []
        out += sorted(operators, key=lambda l: l.split()[0].encode())
    print("\n".join(out))


main()

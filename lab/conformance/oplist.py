"""Compares `pte-emit kernels` with the scripts that ExecuTorch's selective build runs, and records their results for the tests.

Needs Python with executorch 1.5.1 and torch (torchgen): python oplist.py PTE_EMIT PRIM_OPS_SOURCE FILE... [--record JSON]
PRIM_OPS_SOURCE is kernels/prim_ops/register_prim_ops.cpp of ExecuTorch, whose kernels gen_max_kernel_num.py counts.
FILE is a .pte, .bpte or YAML, by a path relative to the root of the repository.
`--record` writes what the scripts say of the files: operators, keys of their kernels, and the hash of each header.
"""

import contextlib
import hashlib
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from executorch.codegen.tools.gen_max_kernel_num import gen_max_kernel_num
from executorch.codegen.tools.gen_oplist import gen_oplist
from executorch.codegen.tools.gen_selected_op_variants import write_selected_op_variants
from executorch.codegen.tools.gen_selected_prim_ops import read_prim_op_names_from_yaml, write_selected_prim_ops

HEADERS = ["selected_op_variants.h", "selected_prim_ops.h", "selected_max_kernel_num.h"]


def upstream(file, prim_ops, folder):
    """Runs ExecuTorch's scripts for a program; returns the text of selected_operators.yaml and of the headers."""
    oplist = folder / "selected_operators.yaml"
    with contextlib.redirect_stdout(io.StringIO()):
        gen_oplist(oplist, model_file_path=str(file))
        write_selected_op_variants(str(oplist), str(folder))
        write_selected_prim_ops(read_prim_op_names_from_yaml(str(oplist)), str(folder))
        gen_max_kernel_num([oplist], prim_ops, folder / HEADERS[2])
    return oplist.read_text(), [(folder / name).read_text() for name in HEADERS]


def ours(binary, file, folder):
    run = lambda *arguments: subprocess.run([binary, "kernels", file, *arguments], check=True, capture_output=True, text=True).stdout
    run("--format", "header", "-o", folder)
    return run("--format", "yaml"), [(folder / name).read_text() for name in HEADERS]


def compare(binary, prim_ops, path, scratch):
    """Returns what ExecuTorch's scripts say of a file, and how `pte-emit` differs from them."""
    file = Path(path)
    if file.suffix == ".yaml":
        file = scratch / "model.pte"
        subprocess.run([binary, "-q", path, "-o", file], check=True)
    (scratch / "upstream").mkdir(exist_ok=True)
    text, headers = upstream(file, prim_ops, scratch / "upstream")
    own_text, own_headers = ours(binary, file, scratch / "own")
    expected, found = yaml.safe_load(text), yaml.safe_load(own_text)
    differences = []
    if expected != found:
        differences.append("selected_operators.yaml")
    elif text != own_text:
        differences.append("text of selected_operators.yaml")
    differences += [name for name, a, b in zip(HEADERS, headers, own_headers) if a != b]
    hashes = [hashlib.sha256(header.encode()).hexdigest() for header in headers]
    record = {
        "operators": sorted(expected["operators"]),
        "kernels": expected["et_kernel_metadata"],
        "headers": dict(zip(HEADERS, hashes)),
    }
    return record, differences


def main():
    arguments = sys.argv[1:]
    target = None
    if "--record" in arguments:
        at = arguments.index("--record")
        target = arguments[at + 1]
        del arguments[at : at + 2]
    binary, prim_ops, files = arguments[0], Path(arguments[1]), arguments[2:]
    programs, failed = {}, 0
    with tempfile.TemporaryDirectory() as scratch:
        for path in files:
            programs[path], differences = compare(binary, prim_ops, path, Path(scratch))
            failed += bool(differences)
            for difference in differences:
                print(f"{path}: {difference} differs")
    print(f"{len(files)} files, {failed} differ")
    if target:
        command = "lab/conformance/oplist.py with ExecuTorch 1.5.1 and torch: what its scripts say of each file"
        document = {"command": command, "programs": programs}
        Path(target).write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

"""record.py PTE_EMIT RUNNER: writes the ETDumps of this folder, and the files of values beside them, from examples in examples/.

PTE_EMIT is the command line of this repository, RUNNER the program that lab/conformance/fetch.sh builds. Each example is executed once for
each of its inputs in EXAMPLES.
"""

import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
EXAMPLES = HERE.parents[3] / "examples"


def f32(sizes, *numbers):
    return tensor(6, sizes, struct.pack(f"<{len(numbers)}f", *numbers))


def i64(sizes, *numbers):
    return tensor(4, sizes, struct.pack(f"<{len(numbers)}q", *numbers))


def tensor(code, sizes, data):
    words = [",".join(map(str, numbers)) or "-" for numbers in (sizes, range(len(sizes)))]
    return f"tensor {code} {words[0]} {words[1]} {data.hex()}"


# By example: method, and the inputs of its executions.
RECORDED = {
    "linear": ("forward", [[f32([1, 4], 1, 1, 1, 1)], [f32([1, 4], 1, 2, 3, 4)]]),
    "loop": ("forward", [[f32([2], 1, -0.5), i64([], 3)]]),
    "lists": ("forward", [[f32([2, 2], 1, 2, 3, 4), f32([2, 1], 5, 6)]]),
    "xnnpack_two_delegates": ("forward", [[f32([2, 2], 1, 2, 3, 4)], [f32([2, 2], 1, 2, 3, 4)]]),
    "quantize": ("per_channel", [[f32([1, 3], 1, 1, 1)]]),
}


def main():
    pte_emit, runner = sys.argv[1:]
    for name, (method, executions) in RECORDED.items():
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program.pte")
            subprocess.run([pte_emit, EXAMPLES / f"{name}.yaml", "-q", "-o", program], check=True)
            script = [f"load {method}"]
            for inputs in executions:
                script += [f"input {number} {value}" for number, value in enumerate(inputs)] + ["execute"]
            files = ["--etdump", HERE / f"{name}.etdump", "--debug-buffer", HERE / f"{name}.values"]
            answers = subprocess.run([runner, program, *files], input="\n".join(script), text=True, capture_output=True, check=True).stdout
            assert "error" not in answers, answers


main()

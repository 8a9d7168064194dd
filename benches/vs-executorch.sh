#!/usr/bin/env bash
# Compares time and peak memory of ExecuTorch's exporter and pte-emit for a program with the same weights.
# Installs torch and executorch into a virtual environment (about 3 GB); skips the comparison if the disk is too full.
#
#   benches/vs-executorch.sh [FOLDER]     FOLDER keeps the environment for later runs; temporary by default
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

if [ ! -x "$folder/venv/bin/python" ]; then
    free=$(df -Pk "$folder" | awk 'NR == 2 { print $4 }')
    if [ "$free" -lt 8000000 ]; then
        echo "$folder has $((free / 1000)) MB; the exporter and the weights need 8000 MB"
        exit 0
    fi
    python3 -m venv "$folder/venv"
    "$folder/venv/bin/pip" install --quiet 'executorch==1.5.1' torch safetensors numpy
fi
cargo build --release --locked --quiet
target=${CARGO_TARGET_DIR:-target}
pte_emit=$(cd "$(dirname "$target/release/pte-emit")" && pwd)/pte-emit
work="$folder/work"
rm -rf "$work" && mkdir -p "$work"

# Linear layers of 4 MiB each: a .safetensors, and the YAML of the same program.
cat > "$work/make.py" <<'PY'
import sys
import torch
from safetensors.torch import save_file

count, folder = int(sys.argv[1]), sys.argv[2]
torch.manual_seed(0)
save_file({f"layers.{i}.weight": torch.randn(1024, 1024) for i in range(count)}, f"{folder}/w{count}.safetensors")
lines = ["methods:", "  forward:", "    values:", "      x0: {tensor: float32, sizes: [1, 1024]}"]
lines += [f"      w{i}: {{tensor: float32, data: {{safetensors: w{count}.safetensors, tensor: layers.{i}.weight}}}}" for i in range(count)]
lines += [f"      x{i + 1}: {{tensor: float32, sizes: [1, 1024]}}" for i in range(count)]
lines += ["    inputs: [x0]", f"    outputs: [x{count}]", "    instructions:"]
lines += [f"      - {{kernel: aten::linear.out, args: [x{i}, w{i}, null], out: x{i + 1}}}" for i in range(count)]
open(f"{folder}/w{count}.yaml", "w").write("\n".join(lines) + "\n")
PY
# The exporter: module, graph, program, file.
cat > "$work/export.py" <<'PY'
import sys
import time

start = time.time()
import torch
from executorch.exir import to_edge
from safetensors.torch import load_file

count, folder = int(sys.argv[1]), sys.argv[2]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(1024, 1024, bias=False) for _ in range(count))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


imported = time.time()
model = Model().eval()
model.load_state_dict(load_file(f"{folder}/w{count}.safetensors"))
program = to_edge(torch.export.export(model, (torch.zeros(1, 1024),))).to_executorch()
lowered = time.time()
with open(f"{folder}/exporter{count}.pte", "wb") as file:
    program.write_to_file(file)
written = time.time()
print(f"    of it: import {imported - start:.2f} s, export and lowering {lowered - imported:.2f} s, writing the file {written - lowered:.2f} s")
PY

measured() { # arguments: name, command
    local name=$1
    shift
    "$folder/venv/bin/python" - "$name" "$@" <<'PY'
import resource, subprocess, sys, time

start = time.time()
done = subprocess.run(sys.argv[2:], stderr=subprocess.PIPE, text=True)
if done.returncode:
    sys.exit(done.stderr)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
print(f"  {sys.argv[1]:<12} {time.time() - start:8.2f} s  {peak:9.1f} MB", flush=True)
PY
}

for count in 1 16 64 256; do
    echo "$count layers, $((count * 4)) MiB of weights"
    "$folder/venv/bin/python" "$work/make.py" "$count" "$work"
    measured ExecuTorch "$folder/venv/bin/python" "$work/export.py" "$count" "$work"
    measured pte-emit "$pte_emit" "$work/w$count.yaml" -o "$work/emit$count.pte" -q
    ls -l "$work/exporter$count.pte" "$work/emit$count.pte" | awk '{ print "    " $5 " bytes" }'
    rm -f "$work"/*.pte "$work"/*.safetensors
done

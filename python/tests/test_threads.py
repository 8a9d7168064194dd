"""Long work: the global lock is released, Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pte_emit
import pytest


def large(count: int) -> bytes:
    """YAML of a chain of calls."""
    calls = "".join(f"      - {{kernel: aten::relu.out, args: [v{n}], out: v{n + 1}}}\n" for n in range(count))
    values = f"{{v0: {{tensor: float32, sizes: [8]}}}}"
    text = f"methods:\n  forward:\n    values: {values}\n    inputs: [v0]\n    outputs: [v{count}]\n    instructions:\n{calls}"
    return text.encode()


def test_other_threads_run_meanwhile() -> None:
    model = pte_emit.open(large(20000))
    ticks = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    model.check()
    taken = time.monotonic() - start
    done.set()
    thread.join()
    assert len(ticks) > taken / 0.1, f"{len(ticks)} ticks in {taken:.2f} s"


def test_models_are_shared_by_threads(linear: Path) -> None:
    model = pte_emit.open(linear)
    program = model.program()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(10):
                assert model.check().errors == 0
                program["forward"].constants["weight"].data = program["forward"].constants["weight"].data + 1
                program.to_bytes()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_ends_a_question_and_leaves_python_usable(tmp_path: Path) -> None:
    (tmp_path / "large.yaml").write_bytes(large(100000))
    code = """
import sys, time, pte_emit
model = pte_emit.open(sys.argv[1])
print("ready", flush=True)
start = time.monotonic()
try:
    while True:
        model.assemble(segment_alignment=16).program
except KeyboardInterrupt:
    print(f"{time.monotonic() - start:.3f}", flush=True)
print(pte_emit.open(b"methods: {}").is_text)
"""
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "large.yaml")], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out.endswith("True\n") and process.returncode == 0
    assert float(out.split()[0]) < 0.3 + 2.0, (out, time.monotonic() - sent)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupted_write_leaves_no_file(tmp_path: Path) -> None:
    code = """
import sys, numpy, pte_emit
zeros = numpy.zeros(1 << 28, numpy.uint8)
print("ready", flush=True)
try:
    while True:
        pte_emit.save_ptd(sys.argv[1], {"w": zeros})
except KeyboardInterrupt:
    pass
"""
    target = tmp_path / "w.ptd"
    process = subprocess.Popen([sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert [name for name in os.listdir(tmp_path) if name != "w.ptd"] == []
    if target.exists():
        assert pte_emit.load_ptd(target)["w"].nbytes == 1 << 28

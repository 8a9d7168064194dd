#!/usr/bin/env python3
"""Completes commands, options, values and files in bash and zsh, each in a terminal.

    complete.py BINARY [SHELL...]

A shell that is not installed is left out, with a line that says so.
"""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

# What is typed before the tab, and the line that follows from it.
CASES = [
    ("pte-emit comple", "pte-emit completions "),
    ("pte-emit payload sh", "pte-emit payload show "),
    ("pte-emit check --deny-w", "pte-emit check --deny-warnings "),
    ("pte-emit completions fi", "pte-emit completions fish "),
    ("pte-emit check --format sar", "pte-emit check --format sarif "),
    ("pte-emit check only-f", "pte-emit check only-file.pte "),
    ("pte-emit check --target pic", "pte-emit check --target pico2 "),
    ("pte-emit check --target only-f", "pte-emit check --target only-file.pte "),
    ("pte-emit check --runtime 0.7", "pte-emit check --runtime 0.7.0 "),
    ("pte-emit explain OperatorM", "pte-emit explain OperatorMissing "),
    ("pte-emit ops aten::add.o", "pte-emit ops aten::add.out "),
    ("pte-emit only-f", "pte-emit only-file.pte "),
]

SETUP = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "PS1='> '; bind 'set enable-bracketed-paste off'; source pte-emit.bash\n"),
    "zsh": (
        ["zsh", "-f", "-i"],
        "PS1='> '; unset zle_bracketed_paste; fpath=($PWD/functions $fpath); autoload -U compinit && compinit -u -D\n",
    ),
}


class Terminal:
    """A shell in a terminal."""

    def __init__(self, command: list[str], folder: str, path: str) -> None:
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, {"PATH": path, "TERM": "dumb", "HOME": folder, "LC_ALL": "C.UTF-8"})

    def send(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def read_until(self, expected: str, seconds: float = 20) -> str:
        """Returns what is printed up to the expected text; raises TimeoutError with all of it."""
        seen, end = "", time.monotonic() + seconds
        while expected not in seen:
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"expected {expected!r}, found {seen!r}")
            seen += os.read(self.terminal, 65536).decode(errors="replace")
            # Codes that move the cursor or change colours.
            seen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x07", "", seen)
        return seen

    def close(self) -> None:
        os.close(self.terminal)
        os.waitpid(self.process, 0)


def complete(shell: str, binary: str, folder: str) -> None:
    """Types each line and a tab in a shell, and reads the completed line back as the words of a command."""
    path = f"{os.path.dirname(binary)}:{os.environ['PATH']}"
    command, setup = SETUP[shell]
    os.makedirs(f"{folder}/functions", exist_ok=True)
    script = subprocess.run([binary, "completions", shell], check=True, capture_output=True).stdout
    target = f"{folder}/functions/_pte-emit" if shell == "zsh" else f"{folder}/pte-emit.bash"
    with open(target, "wb") as file:
        file.write(script)
    terminal = Terminal(command, folder, path)
    try:
        terminal.send(setup)
        terminal.send("echo rea''dy\n")
        terminal.read_until("ready\r\n")
        for typed, expected in CASES:
            terminal.send(f"{typed}\t")
            # The line is read back as typed: a comment sign would be completed, so that the rest is a quoted word.
            time.sleep(0.5)
            terminal.send("'|'\x01echo do''ne \x05\n")
            line = terminal.read_until(f"done {expected}|\r\n")
            assert expected in line
        print(f"{shell}: {len(CASES)} lines are completed")
    finally:
        terminal.send("\x15exit\n")
        terminal.close()


def main() -> None:
    binary = os.path.abspath(sys.argv[1])
    for shell in sys.argv[2:] or list(SETUP):
        if shutil.which(shell) is None:
            print(f"{shell} is not installed: its completions are not tried")
            continue
        with tempfile.TemporaryDirectory() as folder:
            open(f"{folder}/only-file.pte", "w", encoding="utf-8").close()
            complete(shell, binary, folder)


main()

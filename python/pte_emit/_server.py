"""Imports ExecuTorch once for several runners: a process that forks for each, and its client, which is the command of the runner.

The client passes its standard streams and arguments. It ends as the fork does, which is killed if the client ends first.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator


def main() -> None:
    """Runs the client: ``python _server.py SOCKET ARGUMENTS...``."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(sys.argv[1])
        socket.send_fds(server, ["\0".join(sys.argv[2:]).encode("utf-8", "surrogateescape") or b"\0"], [0, 1, 2])
        status = int(server.recv(16) or b"1")
    if status < 0:
        # Without a core file of the client.
        signal.signal(-status, signal.SIG_DFL) if -status not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -status)
    os._exit(status)


@contextlib.contextmanager
def started() -> Iterator[list[str]]:
    """Starts the process; returns the command of its runners."""
    with tempfile.TemporaryDirectory(prefix="pte-emit-") as folder, socket.socket(socket.AF_UNIX) as listening:
        path = os.path.join(folder, "socket")
        listening.bind(path)
        listening.listen()
        command = [sys.executable, "-c", "from pte_emit import _server; _server.serve()", str(listening.fileno())]
        with subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[listening.fileno()]) as server:
            try:
                yield [sys.executable, "-S", __file__, path]
            finally:
                # The end of its standard input ends it.
                server.communicate()


def serve() -> None:
    """Forks for each client, until the end of the standard input."""
    from . import runner

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listening, is_imported = socket.socket(fileno=int(sys.argv[1])), False
    while sys.stdin not in (ready := select.select([sys.stdin, listening], [], [])[0]):
        assert ready == [listening]
        client, _ = listening.accept()
        words, streams, _, _ = socket.recv_fds(client, 1 << 20, 3)
        if not is_imported:
            is_imported = True
            # The fork prints what is wrong.
            with contextlib.suppress(SystemExit), open(os.devnull, "w") as null, contextlib.redirect_stderr(null):
                runner._runtime()
        ended, alive = os.pipe()
        fork = os.fork()
        if fork == 0:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            os.close(ended)
            client.close()
            listening.close()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            _run(runner.main, words.decode("utf-8", "surrogateescape").strip("\0").split("\0"))
        for stream in (*streams, alive):
            os.close(stream)
        if ended not in select.select([ended, client, sys.stdin], [], [])[0]:
            os.kill(fork, signal.SIGKILL)
        _, status = os.waitpid(fork, 0)
        os.close(ended)
        with contextlib.suppress(OSError):
            client.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        client.close()


def _run(run: object, arguments: list[str]) -> None:
    """Runs a function as a process of its own does."""
    status = 1
    try:
        status = run(arguments)  # type: ignore[operator]
    except SystemExit as ended:
        print(ended, file=sys.stderr)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()

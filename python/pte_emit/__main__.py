"""The command ``pte-emit``, also as ``python -m pte_emit``."""

import os
import sys

from ._pte_emit import main as _main


def main() -> int:
    """Runs the command with the arguments of the process.

    >>> main.__module__
    'pte_emit.__main__'
    """
    # For `pte-emit test`: the Python of the package, also in an environment that is not activated.
    os.environ.setdefault("PTE_EMIT_PYTHON", sys.executable)
    return _main(["pte-emit", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

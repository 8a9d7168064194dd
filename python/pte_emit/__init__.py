"""Reads, checks, changes and writes ExecuTorch ``.pte`` and ``.ptd`` files, without torch.

>>> import pte_emit
>>> add = pte_emit.assemble('''
... methods:
...   forward:
...     values: {x: {tensor: float32, sizes: [2]}}
...     inputs: [x]
...     outputs: [y]
...     instructions: [{kernel: aten::add.out, args: [x, x, 1], out: y}]
... ''')
>>> model = pte_emit.open(add.program, name="add.pte")
>>> model
<pte_emit.Model add.pte: pte>
>>> model.check().errors
0
>>> model.memory().methods[0].planned
32
"""

from ._errors import Diagnostic, Error, FileError, MissingFileError
from ._pte_emit import (
    EXECUTORCH,
    Assembly,
    BuilderValue,
    Delegate,
    DType,
    Instruction,
    Method,
    MethodBuilder,
    Model,
    Program,
    Tensor,
    Value,
    __version__,
    assemble,
    bound,
    change_outputs,
    embed,
    explain,
    extract,
    generate,
    generate_corpus,
    json_schema,
    kernels,
    merge,
    open,
    ops,
    optimize,
    convert_io,
    quantize_io,
    rename_weights,
    reduce,
    remove_metadata,
    rename,
    replace_payload,
    set_metadata,
    set_weights,
    strip,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import results
    from ._runs import RunOutputs, TappedValue, add_test, compare_runs, run, run_tests, verify, with_outputs
    from ._tensors import load_ptd, load_safetensors, save_ptd, save_safetensors
    from ._typed import Report

__all__ = [
    "EXECUTORCH",
    "Assembly",
    "BuilderValue",
    "DType",
    "Delegate",
    "Diagnostic",
    "Error",
    "FileError",
    "Instruction",
    "Method",
    "MethodBuilder",
    "MissingFileError",
    "Model",
    "Program",
    "Report",
    "RunOutputs",
    "TappedValue",
    "Tensor",
    "Value",
    "__version__",
    "add_test",
    "assemble",
    "bound",
    "change_outputs",
    "compare_runs",
    "embed",
    "explain",
    "extract",
    "generate",
    "generate_corpus",
    "json_schema",
    "kernels",
    "load_ptd",
    "load_safetensors",
    "merge",
    "open",
    "ops",
    "optimize",
    "convert_io",
    "quantize_io",
    "rename_weights",
    "reduce",
    "remove_metadata",
    "rename",
    "replace_payload",
    "results",
    "run",
    "run_tests",
    "save_ptd",
    "save_safetensors",
    "set_metadata",
    "set_weights",
    "strip",
    "verify",
    "with_outputs",
]

# Modules that are imported when one of their names is first used: `import pte_emit` stays fast.
_LAZY = {
    "Report": "_typed",
    "RunOutputs": "_runs",
    "TappedValue": "_runs",
    "add_test": "_runs",
    "compare_runs": "_runs",
    "load_ptd": "_tensors",
    "load_safetensors": "_tensors",
    "results": "results",
    "run": "_runs",
    "run_tests": "_runs",
    "save_ptd": "_tensors",
    "save_safetensors": "_tensors",
    "verify": "_runs",
    "with_outputs": "_runs",
}


def __getattr__(name: str) -> object:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'pte_emit' has no attribute {name!r}")
    from importlib import import_module

    imported = import_module(f"pte_emit.{module}")
    value = imported if name == module else getattr(imported, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

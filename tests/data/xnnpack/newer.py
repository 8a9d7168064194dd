"""Writes newer_operations.bin and newer_value.bin, payloads of an XNNPACK delegate by schemas with more than that of ExecuTorch 1.5.1.

    python newer.py PROGRAM.pte

Needs the package `executorch` 1.5.1, whose flatc and schema it uses. PROGRAM.pte is tests/golden/upstream/programs/xnnpack_dynamic_conv.pte.
"""

import copy
import importlib.resources
import json
import os
import struct
import subprocess
import sys
import tempfile

PACKAGE = importlib.resources.files("executorch")
FLATC = str(PACKAGE / "data/bin/flatc")
SCHEMA = (PACKAGE / "backends/xnnpack/serialization/schema.fbs").read_text()

OPERATIONS = [
    ("  XNNCos: _XNNNode1x1,\n", "  XNNCos: _XNNNode1x1,\n  XNNTan: _XNNNode1x1,\n  XNNStaticReduce,\n"),
    (
        "table _XNNPooling2D {",
        "table XNNStaticReduce { axes:[uint]; mask:[ubyte]; factors:[double]; none:[ushort]; input_id:uint; output_id:uint;"
        " flags:uint; keep:bool; kind:ubyte; rounding:short; epsilon:double; }\n\ntable _XNNPooling2D {",
    ),
    # Fields of convolutions and of transpositions.
    ("  flags:uint;\n}\n\ntable XNNStaticReduce", "  flags:uint;\n  layout:uint;\n  weights:[uint];\n}\n\ntable XNNStaticReduce"),
    (
        "  perm:[uint];\n  input_id:uint;\n  output_id:uint;\n  flags:uint;",
        "  perm:[uint];\n  input_id:uint;\n  output_id:uint;\n  flags:uint;\n  blocks:[uint];\n  group:uint;",
    ),
]

VALUES = [("  id_out:uint;\n}", "  id_out:uint;\n  old:short;\n  layout:uint;\n}")]


def flatc(folder, *arguments):
    subprocess.check_call([FLATC, *arguments], cwd=folder)


def to_json(graph):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/graph.bin", "wb") as file:
            file.write(graph)
        with open(f"{folder}/schema.fbs", "w") as file:
            file.write(SCHEMA)
        flatc(folder, "--json", "--raw-binary", "--strict-json", "schema.fbs", "--", "graph.bin")
        with open(f"{folder}/graph.json") as file:
            return json.load(file)


def to_bytes(graph, changes):
    schema = SCHEMA
    for old, new in changes:
        assert schema.count(old) == 1, old
        schema = schema.replace(old, new)
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/graph.json", "w") as file:
            json.dump(graph, file)
        with open(f"{folder}/schema.fbs", "w") as file:
            file.write(schema)
        flatc(folder, "--binary", "schema.fbs", "graph.json")
        [written] = set(os.listdir(folder)) - {"graph.json", "schema.fbs"}
        with open(f"{folder}/{written}", "rb") as file:
            return file.read()


def payload(graph, constants):
    padding = -len(graph) % 16
    header = struct.pack("<HIIIQ", 30, 32, len(graph), 32 + len(graph) + padding, len(constants))
    return bytes(4) + b"XH00" + header + bytes(2) + graph + bytes(padding) + constants


def node(kind, fields, **more):
    return {"xnode_union_type": kind, "xnode_union": fields, "debug_handle": 7, **more}


def main():
    with open(sys.argv[1], "rb") as file:
        program = file.read()
    start = program.index(b"XH00") - 4
    offset, size, at = struct.unpack_from("<III", program, start + 10)
    (length,) = struct.unpack_from("<Q", program, start + 22)
    graph = to_json(program[start + offset : start + offset + size])
    constants = program[start + at : start + at + length]

    more = copy.deepcopy(graph)
    nodes = more["xnodes"]
    nodes.insert(0, node("XNNTan", {"input_id": 1, "output_id": 2}))
    fields = {"axes": [1, 2, 3], "mask": [1, 0, 1, 1, 0], "factors": [0.5, 2.0], "none": [], "input_id": 1}
    fields |= {"output_id": 3, "flags": 9, "keep": True, "kind": 3, "rounding": -2, "epsilon": 1e-5}
    nodes.append(node("XNNStaticReduce", fields, output_min_max={"output_min": 0.0, "output_max": 6.0}))
    fields = {"num_dims": 2, "perm": [1, 0], "input_id": 1, "output_id": 3, "blocks": [4, 5], "group": 3}
    nodes.append(node("XNNStaticTranspose", fields))
    nodes.append(node("XNNTan", {"input_id": 3, "output_id": 2, "flags": 1}))
    for found in nodes:
        if found["xnode_union_type"] == "XNNConv2d":
            found["xnode_union"] |= {"layout": 2, "weights": [7]}
    with open("newer_operations.bin", "wb") as file:
        file.write(payload(to_bytes(more, OPERATIONS), constants))

    more = copy.deepcopy(graph)
    more["xvalues"][1]["xvalue_union"]["layout"] = 4
    with open("newer_value.bin", "wb") as file:
        file.write(payload(to_bytes(more, VALUES), constants))


main()

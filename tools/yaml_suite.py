"""Writes the cases of the YAML test suite as lines of JSON: python3 tools/yaml_suite.py CLONE > crates/pte-yaml/tests/yaml/suite.jsonl

CLONE is a clone of https://github.com/yaml/yaml-test-suite. Needs PyYAML.
"""

import json
import re
import sys
from pathlib import Path

import yaml

# Visible characters of the suite, and what they stand for.
VISIBLE = {"␣": " ", "←": "\r", "⇔": "\ufeff", "↵": "", "∎\n": ""}


def plain(text):
    for shown, character in VISIBLE.items():
        text = text.replace(shown, character)
    return re.sub("—*»", "\t", text)


def documents(text):
    decoder, at, found = json.JSONDecoder(), 0, []
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        document, at = decoder.raw_decode(text, at)
        found.append(document)
    return found


for path in sorted(Path(sys.argv[1], "src").glob("*.yaml")):
    cases = yaml.safe_load(path.read_text())
    case = {}
    for number, part in enumerate(cases):
        # A case has the keys of the one before it, except `fail`.
        case = {key: value for key, value in case.items() if key != "fail"} | part
        if case.get("skip"):
            continue
        row = {"id": path.stem + (f"-{number:02}" if len(cases) > 1 else ""), "yaml": plain(case["yaml"])}
        if case.get("fail"):
            row["fail"] = True
        if case.get("json") is not None:
            row["json"] = documents(case["json"])
        print(json.dumps(row, separators=(",", ":")))

"""Validates documents by a JSON Schema with the Python package `jsonschema`, to compare with another validator.

    schema.py SCHEMA DOCUMENTS    DOCUMENTS has lines of {"name": ..., "value": ..., "valid": ...}; prints the names where the verdict
                                  differs, with the first error, and at the end the number of documents
"""

import json
import sys

from jsonschema import Draft202012Validator

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)
count = 0
with open(sys.argv[2], encoding="utf-8") as file:
    for line in file:
        document = json.loads(line)
        count += 1
        if validator.is_valid(document["value"]) != document["valid"]:
            error = next(validator.iter_errors(document["value"]), None)
            print(document["name"], "is valid" if error is None else error.message[:200])
print(count)

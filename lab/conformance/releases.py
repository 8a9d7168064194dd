"""Prints which fields and enum values the schemas of each ExecuTorch release add and remove: the source of the table "What needs which release"
in docs/releases.md, and of rule G-32. Downloads the wheels of the releases (143 MB) into a folder.

    releases.py FOLDER
"""

import pathlib
import re
import subprocess
import sys
import zipfile

RELEASES = "0.2.1 0.3.0 0.4.0 0.5.0 0.6.0 0.7.0 1.0.1 1.1.0 1.2.0 1.3.1 1.4.1 1.5.1".split()
SCHEMAS = ["program.fbs", "scalar_type.fbs", "flat_tensor.fbs"]
PLATFORMS = ["manylinux1_x86_64", "manylinux_2_28_x86_64"]


def wheel(folder, release):
    """The wheel of a release, which is downloaded if it is missing."""
    target = pathlib.Path(folder, release)
    if not list(target.glob("*.whl")):
        platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
        options = ["--python-version", "310", "--only-binary=:all:", *platforms, "-d", str(target)]
        subprocess.run([*pip, *options, f"executorch=={release}"], check=True)
    return next(target.glob("*.whl"))


def fields(path):
    """(file, type, field) of all declarations in the schemas of a wheel."""
    found = set()
    with zipfile.ZipFile(path) as files:
        for name in files.namelist():
            if pathlib.PurePosixPath(name).name not in SCHEMAS:
                continue
            text = re.sub(r"//.*", "", files.read(name).decode())
            for kind, type_name, body in re.findall(r"(table|struct|enum|union)\s+(\w+)[^{]*\{(.*?)\}", text, re.S):
                for field in body.split(";" if kind in ("table", "struct") else ","):
                    if field.strip():
                        declared = re.split(r"[:=]", field)[0].strip()
                        found.add((pathlib.PurePosixPath(name).name, type_name, declared))
    return found


before = None
for release in RELEASES:
    now = fields(wheel(sys.argv[1], release))
    for mark, changes in ("+", now - (before or now)), ("-", (before or now) - now):
        for change in sorted(changes):
            print(release, mark, *change)
    before = now

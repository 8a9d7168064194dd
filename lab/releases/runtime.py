"""The runtime of a release from its Python package, without Python and torch: downloads and unpacks the package, and builds `judge` against it.

The libraries of packages before 1.2 need libraries of torch. They are replaced: what the runtime calls is in `torch.cpp`; all other functions (for
conversions to tensors of torch) return 0.
"""

import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import flat_tensor

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
PLATFORMS = ["manylinux1_x86_64", "manylinux_2_28_x86_64"]

# The last release of each minor version, oldest first.
RELEASES = ["0.4.0", "0.5.0", "0.6.0", "0.7.0", "1.0.1", "1.1.0", "1.2.0", "1.3.1", "1.4.1", "1.5.1"]
NEWEST = RELEASES[-1]

# The libraries of the runtime in a package: those for C++ of recent releases, else those of the Python bindings.
LIBRARIES = [["lib/libexecutorch*.so"], ["extension/pybindings/_portable_lib*.so", "kernels/quantized/libquantized_ops_aot_lib.so"]]


def cache():
    """The folder that `lab/conformance/fetch.sh` uses, too."""
    folder = pathlib.Path(os.environ.get("PTE_EMIT_CONFORMANCE_DIR") or REPOSITORY / "target/conformance")
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: {' '.join(str(word) for word in command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def package(release):
    """The path of the package, which is downloaded if it is missing."""
    found = sorted(cache().glob(f"executorch-{release}-*.whl"))
    if not found:
        platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        python = ["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]
        run(*pip, *python, *platforms, "-d", cache(), f"executorch=={release}")
        found = sorted(cache().glob(f"executorch-{release}-*.whl"))
    return found[0]


def package_facts(release):
    """Facts from the package: version, date of the build, commit, torch that it requires, and file name."""
    path = package(release)
    with zipfile.ZipFile(path) as files:
        metadata = next(item for item in files.infolist() if item.filename.endswith(".dist-info/METADATA"))
        requires = re.search(r"^Requires-Dist: torch(\W.*)$", files.read(metadata).decode(), re.M)
        commit = re.search(r"git_version.*'([0-9a-f]{40})'", files.read("executorch/version.py").decode()).group(1)
    return {
        "version": release,
        "date": "{:04}-{:02}-{:02}".format(*metadata.date_time[:3]),
        "commit": commit,
        "torch": requires.group(1).strip(" ()") if requires else "any",
        "package": path.name,
    }


def unpacked(release):
    """The folder with the package's headers and libraries."""
    tree = cache() / f"package-{release}"
    if not tree.is_dir():
        partial = cache() / f"tmp.{os.getpid()}"
        with zipfile.ZipFile(package(release)) as files:
            wanted = ["include/*", *(pattern for patterns in LIBRARIES for pattern in patterns)]
            names = [name for name in files.namelist() if any(fnmatch.fnmatch(name, f"executorch/{pattern}") for pattern in wanted)]
            files.extractall(partial, names)
        partial.rename(tree)
    return tree / "executorch"


def libraries(tree):
    """The libraries of the runtime, in the order of their dependencies."""
    sets = [[path for pattern in patterns for path in sorted(tree.glob(pattern))] for patterns in LIBRARIES]
    return next(paths for paths in sets if paths)


def dynamic(path):
    """(name, needed) of a library."""
    text = run("readelf", "-dW", path)
    return re.findall(r"\(SONAME\).*\[(.*)\]", text), re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def symbols(path, option="--dyn-syms"):
    """(defined, undefined) symbols; weak ones may stay undefined."""
    defined, undefined = set(), {}
    for line in run("readelf", "-W", option, path).splitlines():
        words = line.split()
        if len(words) < 8 or not words[0].rstrip(":").isdigit():
            continue
        name = words[7].split("@")[0]
        if words[6] != "UND":
            defined.add(name)
        elif words[4] != "WEAK":
            undefined[name] = words[3]
    return defined, undefined


def system(name):
    folders = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"]
    return next((path for path in (pathlib.Path(folder, name) for folder in folders) if path.exists()), None)


def is_data(name, kind):
    return kind == "OBJECT" or name.startswith(("_ZTV", "_ZTI", "_ZTS", "PyExc_")) or name.endswith(("Struct", "_Type"))


# Template instances for the registration of kernels in torch, which would read what absent functions return. They
# return an empty pointer, in memory.
SCHEMA = "_ZN3c106detail30inferFunctionSchemaFromFunctor"


# Symbols of Python, of the conversions to tensors of torch, and of a newer libstdc++, which need not do anything.
OF_TORCH = r"_?Py|_Z.*(2at|3c10|5torch|6caffe2|8pybind11|15make_tensor_ptr|_M_replace_cold)|_ZT[VISh]|_ZSt21ios_base_library_initv"


def assembly(absent):
    """Functions that return 0, and data of zeros."""
    schemas = sorted(name for name in absent if name.startswith(SCHEMA))
    data = sorted(name for name, kind in absent.items() if is_data(name, kind))
    functions = sorted(absent.keys() - set(schemas) - set(data))
    label = ".globl {0}\n.type {0},@{1}\n{0}:\n".format
    parts = [".text\n", *(label(name, "function") for name in functions), "xorl %eax,%eax\nret\n"]
    parts += [*(label(name, "function") for name in schemas), "movq $0,(%rdi)\nmovq %rdi,%rax\nret\n"]
    parts += [".data\n.balign 16\n", *(label(name, "object") for name in data), ".zero 8192\n"]
    return "".join(parts) + '.section .note.GNU-stack,"",@progbits\n'


def replace_torch(paths, folder):
    """Writes libraries in place of those that are missing; returns whether any is."""
    names, needed, defined, undefined = set(), set(), set(), {}
    for path in paths:
        own, wanted = dynamic(path)
        names |= {path.name, *own}
        needed |= set(wanted)
        here, there = symbols(path)
        defined |= here
        undefined |= there
    missing = sorted(name for name in needed - names if system(name) is None)
    for name in needed - names - set(missing):
        defined |= symbols(system(name))[0]
    run("g++", "-std=c++17", "-O2", "-fPIC", "-shared", HERE / "torch.cpp", "-o", folder / "torch.so", "-Wl,-soname,torch.so")
    defined |= symbols(folder / "torch.so")[0]
    absent = {name: kind for name, kind in undefined.items() if name not in defined}
    # Kernels are registered in torch, too, by functions that each library has.
    absent |= {name: "FUNC" for name in defined if name.startswith(("_ZN5torch6detail16TorchLibraryInitC", SCHEMA))}
    unknown = sorted(name for name in absent if not re.match(OF_TORCH, name))
    if unknown:
        sys.exit(f"torch.cpp does not have: {' '.join(unknown)}")
    (folder / "absent.s").write_text(assembly(absent))
    run("gcc", "-shared", "-nostdlib", "-o", folder / "absent.so", "-Wl,-soname,absent.so", folder / "absent.s")
    for name in missing:
        (folder / name).symlink_to("absent.so")
    return bool(missing)


def load_method_option(tree, paths):
    """The parameters of Program::load_method have changed three times."""
    defined = set().union(*(symbols(path)[0] for path in paths))
    found = next(name for name in defined if name.startswith("_ZNK10executorch7runtime7Program11load_methodEPKcPNS0_13MemoryManager"))
    parameters = ["NamedDataMap", "LoadBackendOptionsMap", "Kernel"]
    return [f"-DJUDGE_LOAD_METHOD={3 + sum(parameter in found for parameter in parameters)}"]


def build(release, tree, folder, sources):
    folder.mkdir(parents=True)
    paths = libraries(tree)
    for path in paths:
        for name in {path.name, *dynamic(path)[0]}:
            (folder / name).symlink_to(os.path.relpath(path, folder))
    absent = replace_torch(paths, folder)
    include = tree / "include"
    flags = ["-std=c++17", "-O1", "-DC10_USING_CUSTOM_GENERATED_MACROS", "-DET_USE_THREADPOOL", "-DET_EVENT_TRACER_ENABLED"]
    flags += ["-isystem", include, "-isystem", include / "executorch/runtime/core/portable_type/c10"]
    objects = flat_tensor.compile_reader(release, sources, flags, folder, run) if sources else []
    # Functions of absent.so replace those of the libraries; those of torch.so do not.
    link = ["-Wl,--no-as-needed", *([folder / "absent.so"] if absent else []), *(folder / path.name for path in paths)]
    link += [*([folder / "torch.so"] if absent else []), "-Wl,--unresolved-symbols=ignore-in-shared-libs"]
    run("g++", *flags, *load_method_option(tree, paths), HERE / "judge.cpp", *objects, "-o", folder / "judge", *link)


class Runtime:
    """The runtime of a release; with `sources`, a Git repository of ExecuTorch, with the reader of `.ptd` files that some packages do not have."""

    def __init__(self, release, sources=None):
        self.release = release
        sources = sources if release in flat_tensor.RELEASES else None
        self.folder = cache() / f"judge-{release}{'-with-reader' if sources else ''}"
        tree = unpacked(release)
        own = [*HERE.glob("*.cpp"), *HERE.glob("*.h"), HERE / "runtime.py"]
        judge = self.folder / "judge"
        if not judge.exists() or any(source.stat().st_mtime > judge.stat().st_mtime for source in own):
            run("rm", "-rf", self.folder)
            build(release, tree, self.folder, sources)

    def ask(self, jobs, valid):
        """The answers to jobs (text of the protocol), one list of lines for each."""
        environment = {"LD_LIBRARY_PATH": str(self.folder), "PATH": os.environ["PATH"]}
        done = subprocess.run([self.folder / "judge", valid], input=jobs.encode(), capture_output=True, env=environment)
        if done.returncode != 0:
            sys.exit(f"judge of {self.release} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
        answers = [[]]
        for line in done.stdout.decode(errors="replace").splitlines():
            if line == "end":
                answers.append([])
            else:
                answers[-1].append(line)
        return answers[:-1]

#!/usr/bin/env bash
# fetch.sh: downloads the real ExecuTorch runtime (the PyPI wheel's headers and
# libraries, unpacked, not installed) and builds runner.cpp and mutants.cpp
# against it, all in a cache directory. Prints the path of the runner as its
# last line of stdout (mutants is beside it); all else goes to stderr. A second
# run does only the missing steps.
#
# It is not needed to build or use pte-emit, and it does not install anything:
# no torch, no virtual environment, nothing outside the cache directory.
#
# PTE_EMIT_CONFORMANCE_DIR names the cache directory; the default is
# target/conformance in the repository.
set -euo pipefail

version=1.5.1

die() {
  echo "fetch.sh: $*" >&2
  exit 1
}

[ "$(uname -s)" = Linux ] && [ "$(uname -m)" = x86_64 ] ||
  die "the runtime's libraries are for Linux on x86-64; this is $(uname -s) on $(uname -m)"
command -v python3 >/dev/null || die "python3 is needed (with pip) and was not found"
command -v g++ >/dev/null || die "g++ is needed (with C++17) and was not found"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)
dir=${PTE_EMIT_CONFORMANCE_DIR:-$repo/target/conformance}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

tree=$dir/executorch-$version
tmp=$dir/tmp.$$

# One at a time, where flock exists. Each step works under a temporary name and
# ends with a rename, so an interrupted run leaves no incomplete files behind.
if command -v flock >/dev/null; then
  exec 9>"$dir/lock"
  flock 9
  rm -rf "$dir"/tmp.*
fi
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

find_wheel() {
  local file
  for file in "$dir"/executorch-"$version"-*.whl; do
    if [ -f "$file" ]; then
      echo "$file"
      return
    fi
  done
}

if [ ! -d "$tree" ]; then
  mkdir -p "$tmp"
  wheel=$(find_wheel)
  if [ -z "$wheel" ]; then
    python3 -m pip --version >/dev/null 2>&1 || die "python3 has no pip"
    echo "fetch.sh: downloading executorch $version" >&2
    python3 -m pip --disable-pip-version-check download \
      --no-deps --only-binary=:all: --python-version 3.11 --implementation cp \
      --abi cp311 --platform manylinux_2_28_x86_64 \
      -d "$tmp" "executorch==$version" >&2 ||
      die "could not download executorch $version"
    mv "$tmp"/executorch-"$version"-*.whl "$dir"/
    wheel=$(find_wheel)
  fi
  echo "fetch.sh: unpacking" >&2
  python3 -m zipfile -e "$wheel" "$tmp/tree" >&2 || {
    rm -f "$wheel"
    die "the wheel is damaged and was removed; run this again"
  }
  # Without flock another run may have been quicker; either tree will do.
  mv -T "$tmp/tree" "$tree" 2>/dev/null || [ -d "$tree" ] || die "could not write $tree"
fi

include=$tree/executorch/include
lib=$tree/executorch/lib

build() {
  local program=$1
  local source=${2:-$here/$program.cpp}
  if [ -x "$dir/$program" ] && ! [ "$source" -nt "$dir/$program" ] &&
    ! [ "$here/fetch.sh" -nt "$dir/$program" ]; then
    return
  fi
  echo "fetch.sh: building $program" >&2
  mkdir -p "$tmp"
  # --no-as-needed: the kernel libraries register themselves when they are
  # loaded; nothing here calls them by name.
  g++ -std=c++17 -O1 -Wall -Wextra \
    -DC10_USING_CUSTOM_GENERATED_MACROS -DET_EVENT_TRACER_ENABLED -DET_USE_THREADPOOL \
    -isystem "$include" \
    -isystem "$include/executorch/runtime/core/portable_type/c10" \
    "$source" -o "$tmp/$program" \
    -L"$lib" -Wl,--no-as-needed \
    -lexecutorch -lexecutorch_kernels_optimized -lexecutorch_kernels_quantized \
    -lexecutorch_backend_xnnpack -lexecutorch_threadpool -lexecutorch_etdump \
    -Wl,--as-needed \
    -Wl,-rpath,"\$ORIGIN/executorch-$version/executorch/lib" \
    -Wl,-rpath-link,"$lib" >&2 ||
    die "could not build $program"
  mv "$tmp/$program" "$dir/$program"
}

build runner "$repo/crates/pte-run/src/runner.cpp"
build mutants
build memory
build delegates
build firmware
build trials
build errors
build adapters

echo "$dir/runner"

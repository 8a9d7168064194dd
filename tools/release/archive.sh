#!/usr/bin/env bash
# Writes the archive of a release for a target: the command, completions, manual pages, the examples of the guide and
# licenses.
#
#   tools/release/archive.sh TARGET BINARY FOLDER [RUNNABLE]
#
# RUNNABLE is the same command for this machine, if BINARY does not run here. The names are those of
# [package.metadata.binstall] in Cargo.toml.
set -euo pipefail
target=$1 binary=$2 folder=$3 runnable=${4:-$2}
cd "$(dirname "$0")/../.."
name=pte-emit-$target
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/$name/completions"
cp -r examples "$work/$name"
cp "$binary" LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md pte-emit.schema.json "$work/$name"
for shell in bash elvish fish powershell zsh; do "$runnable" completions "$shell" > "$work/$name/completions/pte-emit.$shell"; done
"$runnable" man --output "$work/$name/man"
folder=$(cd "$folder" && pwd)
cd "$work"
case "$target" in
  *windows*) 7z a -bso0 "$folder/$name.zip" "$name" ;;
  *) tar -czf "$folder/$name.tar.gz" "$name" ;;
esac

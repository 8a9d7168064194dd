#!/usr/bin/env bash
# Compares a tag with what it releases: fails unless all versions are the tag's, the changelog has a section of it, and
# the address in Cargo.toml is that of the repository. Prints the section, for the page of the release.
#
#   tools/release/verify.sh TAG ADDRESS
set -euo pipefail
tag=$1 address=$2 version=${1#v}
cd "$(dirname "$0")/../.."

die() {
  echo "tools/release/verify.sh: $*" >&2
  exit 1
}

[ "$tag" = "v$version" ] || die "the tag $tag does not begin with v"
for manifest in Cargo.toml python/Cargo.toml; do
  found=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$manifest" | head -n 1)
  [ "$found" = "$version" ] || die "$manifest has version $found, the tag is $tag"
done
found=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' editors/vscode/package.json)
[ "$found" = "$version" ] || die "editors/vscode/package.json has version $found, the tag is $tag"
found=$(sed -n 's/^repository = "\(.*\)"$/\1/p' Cargo.toml)
[ "$found" = "$address" ] || die "Cargo.toml has the repository $found, this one is $address: YAML and \`cargo binstall\` would use another"
notes=$(awk -v title="## $version" '$0 == title || index($0, title " ") == 1 { on = 1; next } /^## / { on = 0 } on' CHANGELOG.md)
[ -n "${notes//[[:space:]]/}" ] || die "CHANGELOG.md has no section \"## $version\""
! grep -q "^## $version (unreleased)" CHANGELOG.md || die "CHANGELOG.md calls $version unreleased"
printf '%s\n' "$notes"

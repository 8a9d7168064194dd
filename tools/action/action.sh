#!/usr/bin/env bash
# The steps of action.yml. Each reads its parameters from the environment, because text of a workflow in a script would
# be code.
#
#   action.sh install   downloads the command of the release of this repository, and adds it to PATH
#   action.sh check     `check` of the files; status 1 for errors
#   action.sh diff      `diff` of the files that changed since PTE_EMIT_BASE, as Markdown in PTE_EMIT_COMMENT;
#                       status 1 beyond the budget
#   action.sh comment   writes PTE_EMIT_COMMENT to the pull request, in place of the last one
#
# | variable | meaning |
# |---|---|
# | PTE_EMIT_FILES | patterns of git, one in each line |
# | PTE_EMIT_CHECK | options of `check`, separated by spaces |
# | PTE_EMIT_BASE | commit to compare with |
# | PTE_EMIT_BUDGET | value of `diff --budget`; empty for none |
# | PTE_EMIT_COMMENT | file of the comment |
# | PTE_EMIT_PULL_REQUEST | its number |
# | PTE_EMIT_DOWNLOADS | folder of the archives; by default that of the release |
set -euo pipefail

# First line of the comment, by which a later run finds it.
marker='<!-- pte-emit diff -->'
# Bytes of the comment: GitHub accepts 65,536 characters.
limit=60000

die() {
  echo "::error::pte-emit: $*" >&2
  exit 2
}

# Prints the target whose binary runs here.
target() {
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) echo x86_64-unknown-linux-musl ;;
    Linux-aarch64) echo aarch64-unknown-linux-musl ;;
    Darwin-x86_64) echo x86_64-apple-darwin ;;
    Darwin-arm64) echo aarch64-apple-darwin ;;
    MINGW*-x86_64 | MSYS*-x86_64) echo x86_64-pc-windows-msvc ;;
    *) die "no binary for $(uname -s) on $(uname -m); install pte-emit before this action" ;;
  esac
}

# Prints a value of Cargo.toml, such as `version`: the first one is that of the workspace.
manifest() {
  sed -n "s/^$1 = \"\\(.*\\)\"\$/\\1/p" "$(dirname "${BASH_SOURCE[0]}")/../../Cargo.toml" | head -n 1
}

install() {
  if command -v pte-emit > /dev/null; then
    echo "pte-emit is installed: $(pte-emit --version)"
    return
  fi
  local name archive folder from
  name=pte-emit-$(target)
  archive=$name.tar.gz
  if [[ $name == *windows* ]]; then archive=$name.zip; fi
  from=${PTE_EMIT_DOWNLOADS:-$(manifest repository)/releases/download/v$(manifest version)}
  folder=$(mktemp -d)
  for file in "$archive" SHA256SUMS; do
    curl --fail --silent --show-error --location --retry 3 --output "$folder/$file" "$from/$file" ||
      die "cannot download $from/$file"
  done
  (cd "$folder" && grep " [ *]\\?$archive\$" SHA256SUMS | sha256_check) || die "$archive has another SHA-256 than SHA256SUMS states"
  if [[ $archive == *.zip ]]; then unzip -q -d "$folder" "$folder/$archive"; else tar -xzf "$folder/$archive" -C "$folder"; fi
  "$folder/$name/pte-emit" --version
  # The runner of Windows reads paths of Windows.
  if command -v cygpath > /dev/null; then folder=$(cygpath --windows "$folder"); fi
  echo "$folder/$name" >> "$GITHUB_PATH"
}

sha256_check() {
  if command -v sha256sum > /dev/null; then sha256sum --check --quiet -; else shasum --algorithm 256 --check --quiet -; fi
}

# Sets `patterns`. The bash of macOS has no mapfile.
read_patterns() {
  local line
  patterns=()
  while IFS= read -r line; do patterns+=("$line"); done < <(printf '%s\n' "${PTE_EMIT_FILES:?}" | sed 's/^ *//; s/ *$//; /^$/d')
  [ "${#patterns[@]}" != 0 ] || die "\`files\` has no pattern"
}

check() {
  local files=() options file
  read_patterns
  while IFS= read -r -d '' file; do files+=("$file"); done < <(git ls-files -z -- "${patterns[@]}")
  if [ "${#files[@]}" = 0 ]; then
    echo "::notice::pte-emit: no file matches ${patterns[*]}"
    return
  fi
  read -r -a options <<< "${PTE_EMIT_CHECK:-}"
  # YAML of a pull request reads no files outside of the repository.
  pte-emit check --format github --confine . ${options[@]+"${options[@]}"} -- "${files[@]}"
}

# Prints a path without characters that mean something in Markdown.
plain() { printf '%s' "$1" | tr -c 'A-Za-z0-9._/+@-' '?'; }

# Compares a file of the folder `base` with the one of `head`; prints Markdown. Returns 1 beyond the budget.
compare() {
  local status=0 budget=()
  if [ -n "${PTE_EMIT_BUDGET:-}" ]; then budget=(--budget "$PTE_EMIT_BUDGET"); fi
  pte-emit diff --format markdown --confine . ${budget[@]+"${budget[@]}"} -- "base/$1" "head/$1" || status=$?
  if [ "$status" -gt 1 ]; then
    printf '### %s cannot be compared: the log has the reason\n\n' "$(plain "$1")"
  elif [ "$status" = 1 ] && [ -n "${PTE_EMIT_BUDGET:-}" ]; then
    return 1
  fi
}

diff_files() {
  local work changes=() status=0 at path word
  read_patterns
  git rev-parse --quiet --verify "${PTE_EMIT_BASE:?}^{commit}" > /dev/null ||
    git fetch --quiet --no-tags --depth=1 origin "$PTE_EMIT_BASE" || die "cannot fetch the commit $PTE_EMIT_BASE"
  work=$(mktemp -d)
  # With the filters of git, such as LFS.
  git worktree add --quiet --detach "$work/base" "$PTE_EMIT_BASE"
  git worktree add --quiet --detach "$work/head" HEAD
  while IFS= read -r -d '' word; do changes+=("$word"); done < \
    <(git diff --no-renames --name-status -z "$PTE_EMIT_BASE" HEAD -- "${patterns[@]}")
  {
    printf '%s\n' "$marker"
    if [ "${#changes[@]}" = 0 ]; then echo "No program changed."; fi
    for ((at = 0; at < ${#changes[@]}; at += 2)); do
      path=${changes[at + 1]}
      case "${changes[at]}" in
        A) printf '### %s is new: %s bytes\n\n' "$(plain "$path")" "$(wc -c < "$work/head/$path")" ;;
        D) printf '### %s is removed\n\n' "$(plain "$path")" ;;
        *) (cd "$work" && compare "$path") || status=1 ;;
      esac
    done
  } > "$work/comment"
  git worktree remove --force "$work/base"
  git worktree remove --force "$work/head"
  if [ "$(wc -c < "$work/comment")" -gt "$limit" ]; then
    head -c "$limit" "$work/comment" | iconv -c -f UTF-8 -t UTF-8 > "${PTE_EMIT_COMMENT:?}"
    printf '\n\nThe rest is left out: a comment has a largest size. The log of the workflow has all.\n' >> "$PTE_EMIT_COMMENT"
  else
    cp "$work/comment" "${PTE_EMIT_COMMENT:?}"
  fi
  cat "$work/comment"
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat "$PTE_EMIT_COMMENT" >> "$GITHUB_STEP_SUMMARY"; fi
  rm -rf "$work"
  if [ "$status" != 0 ]; then echo "::error::pte-emit: a program grew by more than the budget: $PTE_EMIT_BUDGET"; fi
  return "$status"
}

comment() {
  if [ ! -f "${PTE_EMIT_COMMENT:?}" ]; then
    echo "::notice::pte-emit: there is no comment, because the programs were not compared"
    return
  fi
  local comments="repos/${GITHUB_REPOSITORY:?}/issues" old
  # A pull request from a fork has a token that cannot write: its diff is in the summary of the workflow.
  old=$(gh api --paginate "$comments/${PTE_EMIT_PULL_REQUEST:?}/comments" \
    --jq ".[] | select(.user.type == \"Bot\" and (.body | startswith(\"$marker\"))) | .id" | head -n 1) || true
  if [ -n "$old" ]; then
    gh api --silent --method PATCH "$comments/comments/$old" --field "body=@${PTE_EMIT_COMMENT:?}"
  else
    gh api --silent --method POST "$comments/$PTE_EMIT_PULL_REQUEST/comments" --field "body=@${PTE_EMIT_COMMENT:?}"
  fi || echo "::warning::pte-emit: the comment cannot be written: the workflow needs \`permissions: pull-requests: write\`"
}

case "${1:-}" in
  install) install ;;
  check) check ;;
  diff) diff_files ;;
  comment) comment ;;
  *) die "unknown step \`${1:-}\`; expected install, check, diff or comment" ;;
esac

#!/usr/bin/env bash
# Runs the steps of action.yml on two commits of a sample repository, with a stand-in for `gh` that records what it is
# called with.
#
#   tests/release/action.sh ARCHIVES    ARCHIVES has what tools/release/archive.sh writes for this machine
set -euo pipefail
action=$(cd "$(dirname "$0")/../.." && pwd)/tools/action/action.sh
archives=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "tests/release/action.sh: $*" >&2
  exit 1
}
# Fails unless a file has a line with a text.
has() { grep -qF -- "$2" "$1" || { cat "$1"; fail "no \`$2\` in $1"; }; }
# Runs a command; fails unless it exits with a status.
exits() {
  local expected=$1 status=0
  shift
  "$@" > "$work/out" 2>&1 || status=$?
  [ "$status" = "$expected" ] || { cat "$work/out"; fail "status $status of \`$*\`, expected $expected"; }
}

# The step that installs: an archive whose hash is that of SHA256SUMS, and another one.
(cd "$archives" && sha256sum pte-emit-* > "$work/SHA256SUMS")
mkdir "$work/downloads" "$work/bin"
cp "$archives"/pte-emit-* "$work/SHA256SUMS" "$work/downloads"
export GITHUB_PATH=$work/path PTE_EMIT_DOWNLOADS=file://$work/downloads
PATH=/usr/bin:/bin exits 0 "$action" install
PATH=$(cat "$GITHUB_PATH"):$PATH
export PATH
has "$work/out" "pte-emit "
exits 0 "$action" install
has "$work/out" "pte-emit is installed"
sed -i 's/^./x/' "$work/downloads/SHA256SUMS"
PATH=/usr/bin:/bin exits 2 "$action" install

cat > "$work/bin/gh" <<'GH'
#!/usr/bin/env bash
echo "$*" >> "$GH_LOG"
case "$*" in *--paginate*) cat "$GH_COMMENTS" ;; esac
exit "${GH_STATUS:-0}"
GH
chmod +x "$work/bin/gh"

# A repository with two commits: a program changes, one is added, one removed, one stays; the YAML of one reads a file
# outside.
program() {
  printf 'methods: {forward: {values: {x: {tensor: float32, sizes: [%s]}, y: {tensor: float32, sizes: [%s]}}, inputs: [x], outputs: [y], instructions: [{kernel: "aten::%s.out", args: [x], out: y}]}}\n' "$1" "$1" "$2"
}
mkdir "$work/sample" && cd "$work/sample"
git init --quiet .
git config user.name sample
git config user.email sample@host.example
mkdir models
program 2 relu | pte-emit - > "models/a b.pte"
program 3 relu > gone.pte.yaml
program 4 relu > same.pte.yaml
git add . && git commit --quiet --message one
base=$(git rev-parse HEAD)
program 200000 sigmoid | pte-emit - > "models/a b.pte"
program 2 relu > 'new`x`.pte.yaml'
git rm --quiet gone.pte.yaml
git add . && git commit --quiet --message two

export PTE_EMIT_FILES=$'*.pte\n  *.pte.yaml\n' PTE_EMIT_BASE=$base PTE_EMIT_COMMENT=$work/comment.md GITHUB_STEP_SUMMARY=$work/summary
exits 0 "$action" check
exits 0 "$action" diff
has "$PTE_EMIT_COMMENT" '<!-- pte-emit diff -->'
has "$PTE_EMIT_COMMENT" 'aten::sigmoid.out'
has "$PTE_EMIT_COMMENT" '### new?x?.pte.yaml is new'
has "$PTE_EMIT_COMMENT" '### gone.pte.yaml is removed'
if grep -q same "$PTE_EMIT_COMMENT"; then fail "a file that did not change is compared"; fi
cmp "$PTE_EMIT_COMMENT" "$GITHUB_STEP_SUMMARY"
[ "$(git worktree list | wc -l)" = 1 ] || fail "a work tree is left"
PTE_EMIT_BUDGET=planned=+0 exits 1 "$action" diff
has "$work/out" '::error::pte-emit: a program grew'
PTE_EMIT_BUDGET=planned=+99% PTE_EMIT_FILES='*.yaml' exits 0 "$action" diff
PTE_EMIT_BASE=$(git rev-parse HEAD) exits 0 "$action" diff
has "$PTE_EMIT_COMMENT" 'No program changed.'

# A file with an error, and options of `check`; YAML that reads a file outside of the repository; no file.
program 2 rleu > typo.pte.yaml
printf 'named_data: {x: {file: /etc/hostname}}\n' > outside.pte.yaml
git add .
exits 1 "$action" check
has "$work/out" '::error file=outside.pte.yaml,'
has "$work/out" '::warning file=typo.pte.yaml'
git rm --quiet --force outside.pte.yaml
exits 0 "$action" check
PTE_EMIT_CHECK='--deny-warnings --quiet' exits 1 "$action" check
PTE_EMIT_FILES='*.none' exits 0 "$action" check
has "$work/out" 'no file matches'
PTE_EMIT_FILES=' ' exits 2 "$action" check

# The comment: a new one, the same one again, and a token that cannot write.
export PATH=$work/bin:$PATH GH_LOG=$work/log GH_COMMENTS=$work/comments GITHUB_REPOSITORY=owner/sample PTE_EMIT_PULL_REQUEST=7
: > "$GH_COMMENTS"
exits 0 "$action" comment
has "$GH_LOG" "api --silent --method POST repos/owner/sample/issues/7/comments --field body=@$PTE_EMIT_COMMENT"
printf '41\n42\n' > "$GH_COMMENTS"
exits 0 "$action" comment
has "$GH_LOG" "api --silent --method PATCH repos/owner/sample/issues/comments/41 --field body=@$PTE_EMIT_COMMENT"
GH_STATUS=1 exits 0 "$action" comment
has "$work/out" '::warning::pte-emit: the comment cannot be written'
PTE_EMIT_COMMENT=$work/none exits 0 "$action" comment
has "$work/out" 'there is no comment'
exits 2 "$action" other
echo "the action's steps: checked, compared and commented on two commits"

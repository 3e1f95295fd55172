#!/bin/sh
# NOTICE names every library that is linked, and systole --version tells what was built.
cd "$(dirname "$0")/../.." || exit 1
systole=${SYSTOLE:-./systole}
viewer=${VIEWER:-${systole}-view}
status=0
fail() { echo "notice: $*"; status=1; }

if command -v readelf >/dev/null; then
    for program in "$systole" "$viewer"; do
        [ -x "$program" ] || { echo "skipped: no $program"; continue; }
        for library in $(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
            name=$(echo "$library" | sed 's/\.so.*//; s/-[0-9.]*$//; s/^ld-linux.*/ld-linux/')
            case $name in libasan|libubsan) continue ;; esac    # of make SAN=1
            grep -q "^  .*\<$name\>" NOTICE || fail "$program is linked to $library"
        done
    done
else
    echo "skipped: no readelf for the libraries of NOTICE"
fi

version=$(sed -n 's/^#define SY_VERSION "\(.*\)"/\1/p' include/systole/status.h)
[ "$("$systole" --version)" = "systole $version" ] || fail "--version is not systole $version"
out=$("$systole" --version --json) || fail "--version --json fails"
echo "$out" | grep -Eqx "\{\"version\": \"$version\", \"commit\": \"[-0-9A-Za-z._]+\", \"simd\": \"(c|avx2|avx512|avx512bf16)\"\}" ||
    fail "--version --json says $out"
"$systole" --version --xml >/dev/null 2>&1 && fail "--version --xml succeeds"

# a commit only where the folder is the top of a repository, and written only when it differs
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
commit=$(pwd)/tools/commit.sh
(cd "$work" && sh "$commit" "$work/commit.h")
grep -qx '#define SYSTOLE_COMMIT "unknown"' "$work/commit.h" || fail "without git: $(cat "$work/commit.h")"
touch -d 2001-01-01 "$work/commit.h" 2>/dev/null
(cd "$work" && sh "$commit" "$work/commit.h")
[ -z "$(find "$work/commit.h" -newer NOTICE)" ] || fail "the same commit is written again"
if command -v git >/dev/null && git init -q "$work/theirs" 2>/dev/null; then
    mkdir "$work/theirs/systole"
    (cd "$work/theirs/systole" && sh "$commit" "$work/theirs/commit.h")
    grep -q unknown "$work/theirs/commit.h" || fail "another's commit: $(cat "$work/theirs/commit.h")"
fi
exit $status

#!/bin/sh
# Is docs/api.md what tools/api_doc.sh makes of include/systole.h, which has all parts, does each
# part compile by itself, and is every function that they promise in the library?
cd "$(dirname "$0")/../.." || exit 1
fail() { echo "api_doc: $1"; exit 1; }
sh tools/api_doc.sh | cmp -s - docs/api.md || fail "run: sh tools/api_doc.sh > docs/api.md"
for part in include/systole/*.h; do
    grep -q "^#include \"${part#include/}\"\$" include/systole.h || fail "systole.h lacks $part"
    ${CC:-cc} -std=c11 -fsyntax-only -x c "$part" || fail "$part does not compile by itself"
done
library=$(dirname "${SYSTOLE:-./systole}")/build/libsystole.a
test -f "$library" || { echo "skipped: no $library"; exit 0; }
for name in $(sed -n 's/^[a-z_].*[ *]\(sy_[a-z_0-9]*\)(.*/\1/p' include/systole/*.h | sort -u); do
    nm "$library" 2>/dev/null | grep -q " [TD] $name\$" || fail "$name is declared but not defined"
done

#!/bin/sh
# The header with the commit that is built, "unknown" outside of a repository; written anew only if
# that changed, so that nothing else is built for it. Usage: sh tools/commit.sh HEADER
commit=
# a release that was unpacked into somebody's repository is none of its commits
if [ "$(git -c safe.directory='*' rev-parse --show-prefix 2>/dev/null || echo none)" = "" ]; then
    commit=$(git -c safe.directory='*' describe --always --dirty --tags 2>/dev/null)
fi
text="#define SYSTOLE_COMMIT \"${commit:-unknown}\""
[ "$text" = "$(cat "$1" 2>/dev/null)" ] || echo "$text" >"$1"

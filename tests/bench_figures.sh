#!/bin/sh
# Every figure that systole bench measures is promised in docs/performance.md, and the other way round.
cd "$(dirname "$0")/.." || exit 1
measured=$(sed -n 's/^    {"\([a-z_0-9]*\)", "[a-zA-Z]*", \(true\|false\), .*/\1/p' cli/cmd_bench.c | sort)
promised=$(sed -n '/^| `/p' docs/performance.md | cut -d'|' -f2 | grep -o '`[a-z_0-9]*`' | tr -d '`' | sort)
[ -n "$measured" ] && [ "$measured" = "$promised" ] && exit 0
echo "measured by cli/cmd_bench.c:" $measured
echo "promised in docs/performance.md:" $promised
exit 1

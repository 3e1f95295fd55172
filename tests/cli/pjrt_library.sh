#!/bin/sh
# The library that frameworks load shows its own names only, and needs few other libraries.
cd "$(dirname "$0")/../.." || exit 1
library=${SYSTOLE_PJRT:-build/libsystole_pjrt.so}
[ -e "$library" ] || { echo "skipped: no $library"; exit 0; }

shown=$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -v '^sy_' | tr '\n' ' ')
[ "$shown" = "GetPjrtApi " ] || { echo "$library shows: $shown"; exit 1; }
if nm -D "$library" | grep -q ' U __asan_'; then
    echo "skipped: what a library with sanitizers needs"
    exit 0
fi
needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE \
    '^(libc|libm|libz|libprotobuf-c|libopenblas|libpthread|ld-linux-x86-64)\.so')
[ -z "$needed" ] || { echo "$library needs: $needed"; exit 1; }
readelf -d "$library" | grep -q SYMBOLIC || { echo "$library asks others for its own names"; exit 1; }

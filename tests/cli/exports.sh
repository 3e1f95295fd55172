#!/bin/sh
# The libraries that make install installs show sy_ symbols only, and of those just what
# include/systole.h declares; the shared one has the soname of its version.
cd "$(dirname "$0")/../.." || exit 1
systole=${SYSTOLE:-./systole}
folder=$(dirname "$systole")
[ ! -d "$folder/build" ] || folder=$folder/build
version=$(sed -n 's/^#define SY_VERSION "\(.*\)"/\1/p' include/systole/status.h)
shared=$folder/libsystole.so.$version archive=$folder/install/libsystole.a
status=0
fail() { echo "exports: $*"; status=1; }

[ "$("$systole" --version)" = "systole $version" ] || fail "systole --version is not $version"
for library in "$shared" "$archive"; do
    [ -e "$library" ] || { echo "skipped: no $library: make libraries"; continue; }
    flags=-g
    [ "$library" = "$archive" ] || flags=-D
    # AddressSanitizer adds names of its own to whatever it compiles.
    shown=$(nm $flags --defined-only "$library" 2>/dev/null | awk 'NF == 3 { print $3 }' |
        grep -v '^__asan_\|^__odr_asan')
    others=$(echo "$shown" | grep -vc '^sy_')
    [ "$others" -eq 0 ] || fail "$library shows $others symbols that are not sy_"
    for name in $(sed -n 's/^[a-z_].*[ *]\(sy_[a-z_0-9]*\)(.*/\1/p' include/systole/*.h | sort -u); do
        echo "$shown" | grep -qx "$name" || fail "$library does not show $name"
    done
    for name in $shown; do
        grep -q "[ *]$name(" include/systole/*.h || fail "$library shows $name, which no header has"
    done
done
if [ -e "$shared" ] && command -v readelf >/dev/null; then
    readelf -d "$shared" | grep -q "SONAME.*\[libsystole.so.${version%%.*}\]" ||
        fail "$shared lacks the soname libsystole.so.${version%%.*}"
fi
exit $status

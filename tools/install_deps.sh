#!/bin/sh
# Installs the Debian packages that the build needs and are missing; says which.
# With "viewer": those of systole-view, too.
need="gcc make pkg-config libjansson-dev libinih-dev uthash-dev libcmocka-dev zlib1g-dev libopenblas-dev
libprotobuf-c-dev protobuf-c-compiler protobuf-compiler"
[ "$1" != viewer ] || need="$need libsdl2-dev libsdl2-ttf-dev libpng-dev fonts-dejavu-core"
missing=
for package in $need; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "systole: installing missing packages:$missing"
as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || {
        echo "systole: please run as root: apt-get install --no-install-recommends$missing" >&2
        exit 1
    }
    as_root=sudo
fi
$as_root apt-get update -q -q &&
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q -q --no-install-recommends $missing >/dev/null || {
    echo "systole: could not install:$missing" >&2
    exit 1
}

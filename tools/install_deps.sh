#!/bin/sh
# Which packages the build needs and are missing: "report" says so and changes nothing, "install"
# installs them where there is apt. With "viewer", those of systole-view, too; with "jax", the one
# that makes virtual environments of Python.
# Usage: sh tools/install_deps.sh report|install [viewer|jax]
need="gcc make pkg-config libjansson-dev libinih-dev uthash-dev libcmocka-dev zlib1g-dev libopenblas-dev
libprotobuf-c-dev libhdf5-dev libzip-dev protobuf-c-compiler protobuf-compiler"
[ "$2" != viewer ] || need="$need libsdl2-dev libsdl2-ttf-dev libpng-dev fonts-dejavu-core"
[ "$2" != jax ] || need="$need python3-venv"

# Is there what the package brings? Where no dpkg knows; the names are Debian's all the same.
has() {
    case $1 in
        gcc) command -v "${CC:-cc}" ;;
        make) command -v make ;;
        pkg-config) command -v pkg-config ;;
        libjansson-dev) pkg-config --exists jansson ;;
        libinih-dev) pkg-config --exists inih ;;
        uthash-dev) echo '#include <uthash.h>' | "${CC:-cc}" -E - ;;
        libcmocka-dev) pkg-config --exists cmocka ;;
        zlib1g-dev) pkg-config --exists zlib ;;
        libopenblas-dev) pkg-config --exists openblas ;;
        libprotobuf-c-dev) pkg-config --exists libprotobuf-c ;;
        libhdf5-dev) pkg-config --exists hdf5 ;;
        libzip-dev) pkg-config --exists libzip ;;
        protobuf-c-compiler) command -v protoc-c ;;
        protobuf-compiler) command -v protoc ;;
        libsdl2-dev) pkg-config --exists sdl2 ;;
        libsdl2-ttf-dev) pkg-config --exists SDL2_ttf ;;
        libpng-dev) pkg-config --exists libpng ;;
        python3-venv) python3 -c 'import ensurepip, venv' ;;
        *) true ;;
    esac >/dev/null 2>&1
}

missing=
for package in $need; do
    if command -v dpkg-query >/dev/null; then
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed'
    else
        has "$package"
    fi || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
    echo "systole: missing, by the names of Debian's packages:$missing; please install them with" \
        "what this system has for that" >&2
    exit 1
fi
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
if [ "$1" != install ] || { [ -n "$as_root" ] && ! command -v sudo >/dev/null; }; then
    echo "systole: missing packages; as root: apt-get install --no-install-recommends$missing" >&2
    exit 1
fi
echo "systole: installing missing packages:$missing"
$as_root apt-get update -q -q &&
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q -q --no-install-recommends $missing >/dev/null || {
    echo "systole: could not install:$missing" >&2
    exit 1
}

#!/bin/sh
# make install into a folder of its own: what is there compiles and runs, from another place, too,
# and make uninstall leaves the folder as it was. And what a missing package leads to.
cd "$(dirname "$0")/../.." || exit 1
tree=$(pwd)
systole=${SYSTOLE:-$tree/systole}
build=$(dirname "$systole")
[ ! -d "$build/build" ] || build=$build/build
cc=${CC:-cc}
status=0
fail() { echo "install: $*"; status=1; }

[ -e "$build/install/systole.pc" ] || { echo "skipped: not built: make installable"; exit 0; }
[ -w "$build" ] || { echo "skipped: $build cannot be written"; exit 0; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# This make is not the one that runs the tests: it shares no jobs and no targets with it.
unset MAKEFLAGS MAKELEVEL MFLAGS
case $build in
    "$tree/build"|./build) set -- BUILD=build ;;
    *) set -- BUILD="${build#"$tree"/}" ;;
esac
run_make() { make --no-print-directory AS_BUILT=1 "$@" >"$work/log" 2>&1; }
listing() { (cd "$1" && find . -exec ls -ld --time-style=+ {} + | sort -k 6); }

# ----- a folder that others use, too -----
mkdir -p "$work/root/usr/share/man/man1" "$work/root/usr/lib"
echo theirs >"$work/root/usr/lib/other"
listing "$work/root" >"$work/before"
run_make install "$@" DESTDIR="$work/root" PREFIX=/usr || { cat "$work/log"; exit 1; }
run_make install "$@" DESTDIR="$work/root" PREFIX=/usr || fail "a second time: $(cat "$work/log")"
mkdir "$work/moved"
cp -R "$work/root/usr" "$work/moved/here"
run_make uninstall "$@" DESTDIR="$work/root" PREFIX=/usr || fail "uninstall: $(cat "$work/log")"
listing "$work/root" >"$work/after"
diff "$work/before" "$work/after" >"$work/diff" || fail "uninstall leaves: $(cat "$work/diff")"
if sh tools/install.sh uninstall /usr "$work/root" 2>/dev/null; then
    fail "a second uninstall succeeds"
fi
# ----- a folder that is not there before -----
run_make install "$@" DESTDIR="$work/new" PREFIX=/opt/systole || fail "new: $(cat "$work/log")"
run_make uninstall "$@" DESTDIR="$work/new" PREFIX=/opt/systole || fail "new: $(cat "$work/log")"
[ ! -e "$work/new" ] || fail "uninstall leaves $(find "$work/new")"

# ----- a place that cannot be written -----
echo file >"$work/file"
if run_make install "$@" PREFIX="$work/file/below"; then fail "PREFIX below a file: succeeds"; fi
[ "$(grep -c '^systole: cannot write .*; nothing is installed$' "$work/log")" = 1 ] ||
    fail "PREFIX below a file: $(cat "$work/log")"
mkdir -p "$work/half/share" "$work/half/lib/libsystole.a"
listing "$work/half" >"$work/before"
if echo "644 LICENSE bin/a
644 LICENSE lib/libsystole.a" | sh tools/install.sh install "$work/half" "" 2>/dev/null; then fail "a folder in a file's place: succeeds"; fi
listing "$work/half" | diff "$work/before" - >"$work/diff" || fail "half installed: $(cat "$work/diff")"
if sh tools/install.sh install relative "" </dev/null 2>/dev/null; then fail "a relative PREFIX is taken"; fi

# ----- where it has been moved -----
here=$work/moved/here
cat >"$work/ask.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <systole.h>
int main(void)
{
    sy_cluster *cluster = NULL;
    if (strcmp(sy_version(), SY_VERSION) != 0 || sy_cluster_resolve("v3-8", NULL, &cluster) != SY_OK ||
        sy_cluster_initialize(cluster) != SY_OK)
        return 1;
    sy_cluster_free(cluster);
    puts(sy_version());
    return 0;
}
END
version=$("$here/bin/systole" --version) || fail "systole does not run from $here"
version=${version#systole }
out=$(cd / && "$here/bin/systole" gemm 128x128x128 --tpu v5e --mode timing 2>&1) ||
    fail "systole gemm from a moved prefix: $out"
[ ! -e "$here/bin/systole-view" ] || "$here/bin/systole-view" --help >/dev/null ||
    fail "systole-view does not run from $here"
sanitized=
! nm -D "$here/lib/libsystole.so" | grep -q ' U __asan_' || sanitized=yes
if [ -n "$sanitized" ]; then
    echo "skipped: programs against libraries with sanitizers"
else
    export PKG_CONFIG_PATH="$here/lib/pkgconfig"
    [ "$(pkg-config --modversion systole)" = "$version" ] || fail "systole.pc is not $version"
    flags=$(pkg-config --cflags --libs systole)
    # shellcheck disable=SC2086
    $cc -std=c11 -Wall -Wextra -Wpedantic -Werror "$work/ask.c" -o "$work/shared" $flags &&
        [ "$(LD_LIBRARY_PATH=$here/lib "$work/shared")" = "$version" ] || fail "with libsystole.so"
    mv "$here/lib/libsystole.so" "$work/put_aside"
    # shellcheck disable=SC2046
    $cc -std=c11 "$work/ask.c" -o "$work/static" $(pkg-config --static --cflags --libs systole) &&
        [ "$("$work/static")" = "$version" ] || fail "with libsystole.a"
    mv "$work/put_aside" "$here/lib/libsystole.so"
fi
if command -v g++ >/dev/null; then
    echo '#include <systole.h>' >"$work/ask.cc"
    g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I"$here/include" "$work/ask.cc" ||
        fail "systole.h is no C++"
else
    echo "skipped: no g++ for systole.h as C++"
fi

# ----- manual pages and completions -----
listed() { "$systole" "$@" --help | awk '/^$/ { part++; next } part == 1 { print $1 }'; }
for command in $(listed) $(listed check | sed 's/^/check-/'); do
    page=$here/share/man/man1/systole-$command.1
    [ -s "$page" ] || { fail "no page of systole $command"; continue; }
    for section in NAME SYNOPSIS DESCRIPTION "SEE ALSO"; do
        grep -q "^\\.SH $section\$" "$page" || fail "$page lacks $section"
    done
done
grep -q 'fB\\-t, \\-\\-tpu=NAME' "$here/share/man/man1/systole-gemm.1" ||
    fail "systole-gemm.1 lacks --tpu"
grep -qF 'fBsystole\-check\-numerics\fR(1)' "$here/share/man/man1/systole-check.1" ||
    fail "systole-check.1 does not name the pages of its checks"
if command -v bash >/dev/null; then
    out=$(bash -c '. "$1"; COMP_CWORD=4 COMP_WORDS=(systole gemm --tpu = v5); _systole systole
        echo "${COMPREPLY[@]}"; COMP_CWORD=2 COMP_WORDS=(systole gemm --out-); _systole systole
        echo "${COMPREPLY[@]}"' bash "$here/share/bash-completion/completions/systole" 2>&1)
    [ "$out" = "v5e v5p
--out-type= --out-npy=" ] || fail "completion of bash gives: $out"
else
    echo "skipped: no bash for its completion"
fi
if command -v zsh >/dev/null; then
    zsh -n "$here/share/zsh/site-functions/_systole" || fail "zsh cannot read its completion"
else
    echo "skipped: no zsh for its completion"
fi

# ----- packages that are missing: said, with names, and nothing is done -----
mkdir "$work/bin"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query"
printf '#!/bin/sh\ntouch "%s"\n' "$work/called" >"$work/bin/apt-get"
cp "$work/bin/apt-get" "$work/bin/sudo"
chmod +x "$work/bin"/*
out=$(PATH="$work/bin:$PATH" sh tools/install_deps.sh report 2>&1) && fail "missing packages: succeeds"
[ "$(echo "$out" | wc -l)" = 1 ] || fail "missing packages take more than a line: $out"
case $out in
    "systole: missing packages"*libjansson-dev*protobuf-compiler) ;;
    *) fail "missing packages: $out" ;;
esac
[ ! -e "$work/called" ] || fail "a report of packages calls apt-get or sudo"
mkdir "$work/bare"
for tool in sh grep; do ln -s "$(command -v $tool)" "$work/bare/$tool"; done
for action in report install; do
    out=$(PATH="$work/bare" sh tools/install_deps.sh $action 2>&1) && fail "without apt: succeeds"
    case $out in
        "systole: missing, by the names of Debian's packages: gcc"*libjansson-dev*) ;;
        *) fail "without apt: $out" ;;
    esac
done
exit $status

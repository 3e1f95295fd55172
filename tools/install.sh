#!/bin/sh
# Puts files below DESTDIR/PREFIX, or says why not and leaves everything as it was; takes away what
# it put there. A list of it all stays in share/systole/installed, by which a later uninstall knows
# folders that it may remove, and which an install of another version cleans up by.
#   sh tools/install.sh install PREFIX DESTDIR <<lines of: MODE SOURCE PLACE, or: link TO PLACE
#   sh tools/install.sh uninstall PREFIX DESTDIR
action=$1 prefix=$2 destdir=$3
root=$destdir$prefix
list=share/systole/installed
umask 022
case $prefix in
    /*) ;;
    *) echo "systole: PREFIX is \"$prefix\"; it begins with /" >&2; exit 1 ;;
esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
: >"$work/made"
: >"$work/staged"

# The folders below the root that an install made, deepest first, then how many above it.
remove_folders() {
    sed -n 's/^folder //p' "$1" | LC_ALL=C sort -r | while IFS= read -r folder; do
        rmdir "$root/$folder" 2>/dev/null
    done
    above=$(sed -n 's/^above //p' "$1")
    folder=$root
    while [ "${above:-0}" -gt 0 ]; do
        rmdir "$folder" 2>/dev/null || break
        folder=$(dirname "$folder") above=$((above - 1))
    done
}

if [ "$action" = uninstall ]; then
    if [ ! -f "$root/$list" ]; then
        echo "systole: not installed below $root: no $root/$list" >&2
        exit 1
    fi
    cp "$root/$list" "$work/list" || exit 1
    sed -n 's/^file //p' "$work/list" | while IFS= read -r file; do
        case /$file/ in */../*) continue ;; esac
        rm -f "$root/$file" || exit 1
    done || { echo "systole: $root cannot be changed; nothing more is removed" >&2; exit 1; }
    remove_folders "$work/list"
    exit 0
fi

make_folder() {
    [ ! -d "$1" ] || return 0
    make_folder "$(dirname "$1")" || return 1
    mkdir "$1" 2>/dev/null || return 1
    printf '%s\n' "$1" >>"$work/made"
}

fail() {
    while IFS= read -r file; do rm -f "$file.new$$"; done <"$work/staged"
    LC_ALL=C sort -r "$work/made" | while IFS= read -r folder; do rmdir "$folder"; done
    echo "systole: $1; nothing is installed" >&2
    exit 1
}

refuse() {
    fail "cannot write $root ($1): choose another place with PREFIX=, or become root"
}

# All of it beside its places first: what does not fit or may not be written leaves nothing behind.
make_folder "$root" || refuse "the folder cannot be made"
cat >"$work/wanted"
while read -r mode source place; do
    target=$root/$place
    make_folder "$(dirname "$target")" || refuse "${place%/*}"
    [ ! -d "$target" ] || fail "$target is a folder"
    printf '%s\n' "$target" >>"$work/staged"
    if [ "$mode" = link ]; then
        ln -sf "$source" "$target.new$$" 2>/dev/null || refuse "$place"
    else
        cp "$source" "$target.new$$" 2>/dev/null && chmod "$mode" "$target.new$$" || refuse "$place"
    fi
    echo "file $place" >>"$work/files"
done <"$work/wanted"
make_folder "$root/share/systole" || refuse "share/systole"
echo "file $list" >>"$work/files"

grep '^folder \|^above ' "$root/$list" >"$work/kept" 2>/dev/null
{
    cat "$work/files" "$work/kept"
    above=0
    while IFS= read -r folder; do
        case $folder in
            "$root"/*) echo "folder ${folder#"$root"/}" ;;
            *) above=$((above + 1)) ;;
        esac
    done <"$work/made"
    [ "$above" -eq 0 ] || echo "above $above"
} >"$work/list"
printf '%s\n' "$root/$list" >>"$work/staged"
cp "$work/list" "$root/$list.new$$" 2>/dev/null || refuse "$list"

# Files of an older version that this one does not have
[ ! -f "$root/$list" ] || grep '^file ' "$root/$list" | grep -vxF -f "$work/list" >"$work/old"
while IFS= read -r file; do mv -f "$file.new$$" "$file" || exit 1; done <"$work/staged"
[ ! -f "$work/old" ] || sed 's/^file //' "$work/old" | while IFS= read -r file; do
    case /$file/ in */../*) continue ;; esac
    rm -f "$root/$file"
done
# Programs find a new shared library by the loader's cache, where it keeps one.
[ -n "$destdir" ] || [ "$(id -u)" != 0 ] || ! command -v ldconfig >/dev/null || ldconfig
exit 0

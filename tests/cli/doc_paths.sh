#!/bin/sh
# Does every source file and folder that a document names exist, and every page and heading that it
# links to? A capital NAME in a path stands for any name. The history in CHANGELOG.md is left out,
# and so is what a document says of folders that are not ours. And does every page exist that a
# source names?
cd "$(dirname "$0")/../.." || exit 1
folders='api|base|cli|data|examples|hbm|include|interconnect|isa|keras|report|sim|stack|tests|tools|train|viz'
bad=0
anchors() { # of a page: what its headings are called in links
    sed '/^```/,/^```/d' "$1" | sed -n 's/^##* //p' | sed 's/\[\([^]]*\)\]([^)]*)/\1/g' |
        tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9_ -]//g; s/ /-/g'
}
for page in README.md CONTRIBUTING.md docs/*.md; do
    for path in $(grep -oE "(^|[^A-Za-z0-9_./-])($folders)/[A-Za-z0-9_*/.-]*" "$page" |
                  sed -E 's/^[^a-z]//; s/[.-]+$//; s/NAME/*/g' | sort -u); do
        case $path in
        */|*.c|*.h|*.def|*.inc|*.ini|*.sh|*.tasm|*.py|*.json|*.proto) ;;
        *) continue ;;
        esac
        # shellcheck disable=SC2086
        set -- $path
        test -e "$1" || { echo "doc_paths: $page names $path"; bad=1; }
    done
    for link in $(grep -oE '\]\([A-Za-z0-9_./-]+' "$page" | cut -c3- | sort -u); do
        test -e "$(dirname "$page")/$link" || { echo "doc_paths: $page links to $link"; bad=1; }
    done
    for link in $(grep -oE '\]\([A-Za-z0-9_./-]*#[a-z0-9_-]+' "$page" | cut -c3- | sort -u); do
        to=${link%%#*}
        to=${to:+$(dirname "$page")/$to}
        anchors "${to:-$page}" | grep -qFx -- "${link#*#}" ||
            { echo "doc_paths: $page links to $link"; bad=1; }
    done
done
for page in docs/*.md; do
    name=${page#docs/}
    test "$name" = README.md || grep -q "($name)" docs/README.md ||
        { echo "doc_paths: docs/README.md lacks $name"; bad=1; }
done
for page in $(grep -rhoE 'docs/[a-z_]+\.md' --include='*.[ch]' --include='*.def' --include='*.inc' \
                   --include='*.sh' --include='*.tasm' $(echo $folders | tr '|' ' ') | sort -u); do
    test -e "$page" || { echo "doc_paths: a source names $page"; bad=1; }
done
exit $bad

#!/bin/sh
# tools/check_python.sh NAME PINS TEST...: runs tests in Python with the packages that the file PINS
# names, in a virtual environment NAME that stays in the user's cache (make distclean removes it). A
# test exits with 0, or 77 where it skips. Without a registry of packages all is skipped. The last
# line counts.
cd "$(dirname "$0")/.." || exit 1
name=$1 pins=$2
shift 2
python=${PYTHON:-python3}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/systole
count=$#
skip_all() {
    echo "skipped: $1"
    echo "0 passed, 0 failed, $((count)) skipped"
    exit 0
}

"$python" -c '' 2>/dev/null || skip_all "no $python"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    skip_all "$("$python" --version) is older than 3.11, which the pinned packages need"
"$python" -c 'import ensurepip, venv' 2>/dev/null || sh tools/install_deps.sh install jax ||
    skip_all "python3-venv is missing"
"$python" -c 'import ensurepip, venv' 2>/dev/null || skip_all "python3-venv is missing"

# Another list of packages, or another Python, is another environment.
hash=$({ cat "$pins"; "$python" --version; } | sha256sum | cut -c 1-16)
venv=$cache/$name-$hash
if [ ! -x "$venv/bin/python" ]; then
    mkdir -p "$cache" 2>/dev/null || skip_all "$cache cannot be made"
    new=$venv.$$
    trap 'rm -rf "$new" "$new.log"' EXIT
    trap 'exit 1' INT TERM
    echo "systole: installing what $pins names into $venv"
    "$python" -m venv "$new" >"$new.log" 2>&1 || skip_all "python3 -m venv fails: $(tail -n 1 "$new.log")"
    if ! "$new/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
        --retries 1 --timeout 20 -r "$pins" >"$new.log" 2>&1; then
        # pip says of a package it cannot look up, too, that there is no such version
        ! grep -q 'Retrying (\|ConnectionError\|connection broken\|timed out' "$new.log" ||
            skip_all "the registry of packages is not reached"
        cat "$new.log"
        echo "check_python: $pins cannot be installed"
        exit 1
    fi
    mv "$new" "$venv" 2>/dev/null || [ -x "$venv/bin/python" ] || exit 1
fi

passed=0 failed=0 skipped=0
log=$(mktemp) || exit 1
trap 'rm -rf ${new:+"$new" "$new.log"} "$log"' EXIT
export PYTHON="$venv/bin/python" PYTHONDONTWRITEBYTECODE=1
for test; do
    case $test in
        *.py) "$PYTHON" "$test" >"$log" 2>&1 ;;
        *) sh "$test" >"$log" 2>&1 ;;
    esac
    case $? in
        0) passed=$((passed + 1)) word=passed ;;
        77) skipped=$((skipped + 1)) word=skipped ;;
        *) failed=$((failed + 1)) word=FAILED; cat "$log" ;;
    esac
    grep '^skipped:' "$log"
    printf '%-44s %s\n' "$test" "$word"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]

#!/bin/sh
# Does every source file outside tests/ open with a comment that says what it is?
cd "$(dirname "$0")/../.." || exit 1
failed=0
for file in $(find base isa hbm interconnect sim stack report data keras train api include cli viz \
                   examples -name '*.[ch]' | sort); do
    # the words of the comment that the file begins with
    words=$(awk 'NR == 1 && !/^\/\*/ { exit }
                 { end = /\*\//; gsub(/\/\*|\*\/.*|^ \*/, ""); n += NF; if (end) { print n; exit } }' \
                "$file")
    if [ "${words:-0}" -lt 4 ]; then
        echo "$file: opens with no comment that says what it is"
        failed=1
    fi
done
exit $failed

#!/bin/sh
# Writes the chip files as C text: { name, text } pairs, ended by { NULL, NULL }.
# Arrays of numbers, because ISO C promises room for string literals of 4095 bytes only.
echo '#include <stddef.h>'
echo '#include "sim/chip/chips.h"'
for file in "$@"; do
    echo "static const char text_$(basename "$file" .ini)[] = {"
    od -An -v -td1 "$file" | sed 's/  *\(-*[0-9][0-9]*\)/\1,/g'
    echo '0 };'
done
echo 'const struct chip_file chip_files[] = {'
for file in "$@"; do
    name=$(basename "$file" .ini)
    echo "    { \"$name\", text_$name },"
done
echo '    { NULL, NULL }'
echo '};'

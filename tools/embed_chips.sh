#!/bin/sh
# Writes the chip files as C strings: { name, text } pairs, ended by { NULL, NULL }.
echo '#include <stddef.h>'
echo '#include "sim/chips.h"'
echo 'const struct chip_file chip_files[] = {'
for file in "$@"; do
    name=$(basename "$file" .ini)
    echo "    { \"$name\","
    sed 's/\\/\\\\/g; s/"/\\"/g; s/^/        "/; s/$/\\n"/' "$file"
    echo '    },'
done
echo '    { NULL, NULL }'
echo '};'

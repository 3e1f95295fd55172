#!/bin/sh
# systole check programs of the programs that lie beside the project: each that has reference values
# is evaluated on the host and right; every form of each in make check-long (SYSTOLE_LONG).
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc
programs=${SYSTOLE_SHARED:-../shared}/samples/programs
[ -d "$programs" ] || { echo "skipped: no samples in $programs"; exit 0; }

first_form=--first-form
[ -z "$SYSTOLE_LONG" ] || first_form=
for kind in jax tf torch; do
    expect 0 ', 0 fail' check programs "$programs/$kind" --ways host --seconds 120 \
        $first_form
done

[ $failures -eq 0 ]

#!/bin/sh
# A sample of tests/faults/faults.sh: a call of the system or an allocation of each command that reads
# or writes files fails, and what can go on is killed; make check-long tries all of them.
cd "$(dirname "$0")/../.." || exit 1
tools=${FAULTS:-build/tests/faults}
if [ ! -x "$tools/fault_calls" ]; then
    echo "skipped: no $tools/fault_calls; make check builds it"
    exit 0
fi
status=0
RANDOM_KILLS=3 sh tests/faults/faults.sh 200 || status=1
# of the few files that a sweep removes, each stays once
KINDS=stays sh tests/faults/faults.sh 1 sweep || status=1
exit $status

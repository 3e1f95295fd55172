#!/bin/sh
# systole debug: where commands come from, how scripts fail, and that cycles are those of a run.
systole=${SYSTOLE:-./systole}
dir=${TMPDIR:-/tmp}/systole_debug.$$
trap 'rm -rf "$dir"' EXIT
mkdir "$dir" || exit 1
status=0
fail() { echo "debug: $*"; status=1; }
out=$dir/out
ex=examples/01_vector_add.tasm

session() {         # arguments of the command; what is said goes to $out
    $systole debug "$@" >"$out" 2>"$out.err" </dev/null
}
says() { grep -qF -- "$1" "$out" || fail "does not say \"$1\": $(head -5 "$out")"; }

# what is loaded, where it stands, how to get help
session $ex || fail "no commands, and it fails"
says "$ex on v3: 18 bundles, on 1 of 2 cores"
says "help lists the commands"
says "core 0 @0: bundle 0 (line 30, start), issues at 0"

# scripts, single commands and standard input do the same
head -c 16384 /dev/zero | sed 's/\x00\x00\x00\x00/\x00\x00\xc0\x3f/g' >"$dir/a.bin"
printf '# to the first store\nnext vst\n\nop\nfinish\nassert f32(hbm[0x20000]) == 1.5\n' >"$dir/s"
session $ex --hbm 0="$dir/a.bin" --script "$dir/s" || fail "script: $(cat "$out.err")"
cp "$out" "$dir/one"
says "writes vmem rows 64..71"
$systole debug $ex --hbm 0="$dir/a.bin" <"$dir/s" >"$out" 2>&1 || fail "stdin: $(cat "$out")"
cmp -s "$dir/one" "$out" || fail "standard input does not do what a script does"
session $ex --hbm 0="$dir/a.bin" --command 'next vst' --command op --command finish \
    --command 'assert f32(hbm[0x20000]) == 1.5' || fail "commands: $(cat "$out.err")"
cmp -s "$dir/one" "$out" || fail "commands do not do what a script does"
printf 'step\nquit\nnonsense\n' | $systole debug $ex >"$out" 2>&1 || fail "quit does not end it"
printf 'quit\n' >"$dir/q"
session $ex -x "$dir/q" --command nonsense || fail "quit does not end what follows"

# cycles are those of a run, whatever is done on the way, on any cores, chip and host threads
for program in examples/0*.tasm; do
    case $program in
        *_v5e.tasm) args="--tpu v5e-1" ;;
        *_v6e.tasm|*_delay.tasm) args="--tpu v6e-1" ;;
        *exchange*) args="--all-cores" ;;
        *) args="" ;;
    esac
    # shellcheck disable=SC2086
    cycles=$($systole run $program $args | sed -n 's/^  \([0-9,]*\) cycles = .*/\1/p' | tr -d ,)
    # shellcheck disable=SC2086
    session $program $args --threads 2 --command 'break flag 1' --command 'watch s1' \
        --command 'step 20' --command 'back 7' --command continue --command 'goto 100' \
        --command delete --command finish || fail "$program: $(cat "$out.err")"
    says "the launch has ended after $cycles cycles"
done

# snapshots as files
session $ex --hbm 0="$dir/a.bin" --command 'until @300' --command "save $dir/half" \
    || fail "save: $(cat "$out.err")"
says "snapshot of cycle 300 written to $dir/half"
session $ex --command "restore $dir/half" --command finish \
    --command 'assert f32(hbm[0x20000]) == 1.5 && cycle == 535' --command run \
    --command 'assert f32(hbm[0x20000]) == 0' || fail "restore: $(cat "$out.err")"

session --resume "$dir/half" --command 'assert cycle >= 300 && cycle < 320' --command finish \
    --command 'assert f32(hbm[0x20000]) == 1.5 && cycle == 535' --command run \
    --command 'assert cycle == 535' || fail "resume: $(cat "$out.err")"
says "$ex on v3: 18 bundles, on 1 of 2 cores"
$systole run --resume "$dir/half" --dump 0x20000:1x2 | tail -1 | grep -q '^1.5 1.5$' \
    || fail "systole run does not go on from the snapshot"

# a listing
session --from-dump tests/corpus/listing/kernel --tpu v6e --command step --command finish \
    || fail "listing: $(cat "$out.err")"
says "tests/corpus/listing/kernel on v6e: "
says "core 0 @1"

session --help || fail "no --help"
says "-x, --script=FILE"

expect() {          # exit status, part of the message, arguments
    wanted=$1 message=$2; shift 2
    session "$@"
    got=$?
    [ $got -eq "$wanted" ] || fail "$*: exit status $got instead of $wanted"
    grep -qF -- "$message" "$out.err" || fail "$*: says \"$(head -1 "$out.err")\""
    [ "$got" -eq 1 ] && [ "$(wc -l <"$out.err")" -ne 1 ] && fail "$*: says more than one line"
}
printf 'step\n\nbrek 3\nquit\n' >"$dir/wrong"
printf 'step\nassert issued == 2\nstep 0\n' >"$dir/false"
expect 1 "systole: $dir/wrong:3: no command \"brek\" (did you mean \"break\"?)" $ex -x "$dir/wrong"
expect 1 "systole: $dir/false:2: assertion is false at cycle 1: issued == 2" $ex -x "$dir/false"
expect 1 "systole: step 0: the count is \"0\"; a whole number in 1..1073741824" $ex --command 'step 0'
expect 1 "$dir/none: No such file" $ex -x "$dir/none"
expect 1 "nowhere.tasm" nowhere.tasm
expect 1 "no slice \"v3-7\"" $ex --tpu v3-7
expect 1 "cannot write $dir/no/such" $ex --command "save $dir/no/such"
expect 1 "which file?" $ex --command save
expect 1 "$dir/nosnap" $ex --command "restore $dir/nosnap"
expect 1 "systole: restore $dir/s: " $ex --command "restore $dir/s"
expect 1 "the snapshot is of " $ex --tpu v2 --command "restore $dir/half"
expect 2 "which program?"
expect 2 "only one program may be given" $ex $ex
expect 2 "--from-dump goes with neither" $ex --from-dump x
printf 'nonsense\n' | $systole debug $ex >"$out" 2>"$out.err" && fail "nonsense on stdin is taken"
grep -qF "systole: stdin:1: no command \"nonsense\"" "$out.err" || fail "stdin: $(cat "$out.err")"

# a snapshot that is none leaves everything as it was
session $ex --hbm 0="$dir/a.bin" --command 'step 5'
cp "$out" "$dir/one"
printf 'step 5\nrestore %s/s\n' "$dir" >"$dir/bad"
session $ex --hbm 0="$dir/a.bin" -x "$dir/bad" && fail "a script is restored"
cmp -s "$dir/one" "$out" || fail "a snapshot that is none changes what is said"
exit $status

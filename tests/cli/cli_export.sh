#!/bin/sh
# Traces as a user asks for them: --trace of run, gemm and train, systole export, and how they fail.
systole=${SYSTOLE:-./systole}
dir=${TMPDIR:-/tmp}/systole_export.$$
trap 'rm -rf "$dir"' EXIT
mkdir "$dir" || exit 1
status=0
fail() { echo "export: $*"; status=1; }
out=$dir/out
ex=examples/03_double_buffered_matmul.tasm

# every format at once by its suffix and afterwards from the .strace: the same bytes
$systole run $ex --tpu v3-8 --all-cores --trace "$dir/a.strace" >"$out" || fail "no .strace"
grep -q "^trace written to $dir/a.strace: .* records, .* cycles, level bundle; systole export" \
    "$out" || fail ".strace: $(tail -1 "$out")"
cp "$out" "$dir/said"
for suffix in pftrace xplane.pb kanata; do
    $systole run $ex --tpu v3-8 --all-cores --trace "$dir/b.$suffix" >"$out" || fail "no $suffix"
    grep -q "^trace written to $dir/b.$suffix: .* events and .* samples, cycles 0 to .*, level" \
        "$out" || fail "$suffix: $(tail -1 "$out")"
    $systole export "$dir/a.strace" -o "$dir/a.$suffix" >"$out" || fail "cannot export $suffix"
    cmp -s "$dir/a.$suffix" "$dir/b.$suffix" || fail "$suffix differs when exported afterwards"
done
# by name, beside the trace; from the folder of a run
mkdir "$dir/run"
cp "$dir/a.strace" "$dir/run/trace.strace"
for format in perfetto=pftrace xspace=xplane.pb kanata=kanata; do
    $systole export "$dir/run" --format ${format%=*} >"$out" || fail "no format ${format%=*}"
    cmp -s "$dir/run/trace.${format#*=}" "$dir/a.${format#*=}" || fail "--format ${format%=*}"
done
[ "$(find "$dir" -name '*.recording*' -o -name '*.tmp' | wc -l)" -eq 0 ] || fail "leftovers"

# others can read them: the messages as their .proto says
protoc --decode=XSpace report/proto/xplane.proto <"$dir/a.xplane.pb" >"$dir/xspace.txt" \
    || fail "protoc cannot decode the XSpace"
[ "$(grep -c '^hostnames' "$dir/xspace.txt")" -eq 1 ] || fail "not one hostname"
[ "$(grep -c '^  name: "/device:TPU:[0-7]"$' "$dir/xspace.txt")" -eq 8 ] || fail "not 8 planes"
for line in 'Steps' 'XLA Modules' 'XLA Ops' 'Async XLA Ops' 'Tensor Core Sync Flag' \
    'LLO Instructions' 'SALU Instructions' 'VLD Instructions' 'VST Instructions' \
    'MXU0 Instructions' '_counters_'; do
    [ "$(grep -c "^    name: \"$line\"$" "$dir/xspace.txt")" -ge 8 ] || fail "no line $line"
done
# no field that the .proto does not know
grep -qE '^ *[0-9]+[:{ ]' "$dir/xspace.txt" && fail "unknown fields in the XSpace"
protoc --decode=Trace report/proto/perfetto.proto <"$dir/a.pftrace" >"$dir/perfetto.txt" \
    || fail "protoc cannot decode the Perfetto trace"
grep -qE '^ *[0-9]+[:{ ]' "$dir/perfetto.txt" && fail "unknown fields in the Perfetto trace"
[ "$(grep -c 'type: 1$' "$dir/perfetto.txt")" -eq "$(grep -c 'type: 2$' "$dir/perfetto.txt")" ] \
    || fail "slices that begin and those that end differ"
grep -q 'process_name: "core 7 (chip 3)"' "$dir/perfetto.txt" || fail "no process of core 7"
head -1 "$dir/a.kanata" | grep -q '^Kanata	0004$' || fail "no Kanata"
cycles=$(sed -n 's/^trace written to .*, \([0-9,]*\) cycles, level.*/\1/p' "$dir/said" | tr -d ,)
awk -v end="$cycles" '/^C/ { at += $NF } END { exit !(at > 0 && at <= end + 1000) }' \
    "$dir/a.kanata" || fail "the Kanata log ends at $(tail -1 "$dir/a.kanata") of $cycles"

# a trace has its name once it is whole; a killed run leaves the one of before
cp "$dir/a.strace" "$dir/k.strace"
timeout -s KILL 0.3 $systole gemm 8192x8192x8192 --mode timing --no-memo --tpu v3-8 \
    --trace "$dir/k.strace" >"$out" 2>&1 && fail "the run is too short to be killed"
cmp -s "$dir/a.strace" "$dir/k.strace" || fail "a killed run has changed the trace"
rm -f "$dir"/k.strace*

# a folder is one run: nothing of the one before stays beside the new numbers, and no reader
# believes a trace of another run
gemm="gemm 256x256x256 --mode timing"
$systole $gemm --tpu v3 --out "$dir/one" >"$out" && $systole export "$dir/one" --format perfetto \
    >"$out" || fail "a run and its export: $(tail -1 "$out")"
echo mine >"$dir/one/notes.txt"
cp "$dir/one/trace.strace" "$dir/old.strace"
$systole $gemm --tpu v2 --out "$dir/one" --no-trace >"$out" || fail "another run there"
[ ! -e "$dir/one/trace.strace" ] && [ ! -e "$dir/one/trace.pftrace" ] && [ -s "$dir/one/stats.json" ] &&
    [ -s "$dir/one/notes.txt" ] || fail "left of two runs: $(ls "$dir/one")"
cp "$dir/old.strace" "$dir/one/trace.strace"
$systole export "$dir/one" --format perfetto >"$out" 2>&1 && fail "another run's trace is exported"
grep -q 'its trace.strace is of another run than its stats.json' "$out" || fail "$(cat "$out")"
$systole explain "$dir/one" >"$out" 2>&1 || fail "explain: $(tail -1 "$out")"
grep -q 'its trace.strace is of another run than its stats.json, and is not used' "$out" ||
    fail "explain believes another run's trace"
$systole $gemm --tpu v3 --out "$dir/one" --trace "$dir/one/trace.pftrace" >"$out" ||
    fail "a trace in the folder: $(tail -1 "$out")"
[ -s "$dir/one/trace.pftrace" ] && [ ! -e "$dir/one/trace.strace" ] ||
    fail "its own trace: $(ls "$dir/one")"

# what could not be written is no success, and says why
for words in '--help' 'run --help' 'chips' '--version'; do
    # shellcheck disable=SC2086
    $systole $words >/dev/full 2>"$out"
    [ $? -eq 1 ] || fail "$words to a full disk is a success"
    grep -q '^systole: standard output: No space left on device$' "$out" || fail "$(cat "$out")"
done

# less of it: levels, windows, one core, a limit, each told
events() { sed -n 's/^trace written to .*: .* \([0-9,]*\) events and .*/\1/p' "$out" | tr -d ,; }
last=0
for level in step op bundle; do
    $systole export "$dir/a.strace" -o "$dir/c.pftrace" --level $level >"$out" || fail "level $level"
    [ "$(events)" -gt "$last" ] || fail "level $level has $(events) events, not more than $last"
    last=$(events)
done
$systole export "$dir/a.strace" -o "$dir/c.pftrace" --window 1k:2k --core 3 >"$out" || fail "window"
grep -q 'cycles 1,000 to 2,000, level bundle' "$out" || fail "window: $(cat "$out")"
grep -qa 'core 3 (chip 1)' "$dir/c.pftrace" || fail "no core 3"
grep -qa 'core 2 (chip 1)' "$dir/c.pftrace" && fail "core 2 beside core 3"
grep -qa 'HBM of chip 1' "$dir/c.pftrace" || fail "core 3 without its memory"
grep -qa 'HBM of chip 0' "$dir/c.pftrace" && fail "core 3 with other memory"
$systole export "$dir/a.strace" -o "$dir/c.pftrace" --max-events 1000 >"$out" || fail "limit"
[ "$(events)" -le 1000 ] && [ "$(events)" -gt 500 ] || fail "limit: $(cat "$out")"
grep -q '^  left out: the [0-9,]* cycles from there on, with [0-9,]* bundles (limit' "$out" \
    || fail "limit: $(cat "$out")"
grep -qa 'left out by the limit of events: [0-9]* cycles, [1-9]' "$dir/c.pftrace" || fail "the file does not say what it lacks"
$systole export "$dir/a.strace" -o "$dir/c.xplane.pb" --max-events 1000 >/dev/null || fail "limit"
protoc --decode=XSpace report/proto/xplane.proto <"$dir/c.xplane.pb" | grep -q '^warnings: ' \
    || fail "the XSpace does not say what it lacks"
$systole export "$dir/a.strace" -o "$dir/c.kanata" --max-events 100 >"$out" || fail "limit"
grep -q 'left out by the limit' "$dir/c.kanata" || fail "the Kanata log does not say what it lacks"
$systole run $ex --trace "$dir/d.strace" --trace-level op --trace-window :2k >"$out" || fail "op"
grep -q 'level op' "$out" || fail "not at level op: $(tail -1 "$out")"

for less in '--trace-max-events 100' '--trace-window 1k:2k'; do
    # shellcheck disable=SC2086
    $systole run $ex --trace "$dir/less.strace" $less >"$out" || fail "$less"
    grep -q "^  left out: [0-9,]* records (${less% *})$" "$out" || fail "$less: $(tail -1 "$out")"
done

# names need not be UTF-8, the formats are
odd=$dir/$(printf 'odd\377\303name\302\265').tasm
cp $ex "$odd"
for suffix in xplane.pb=XSpace/xplane pftrace=Trace/perfetto; do
    message=${suffix#*=}
    $systole run "$odd" --trace "$dir/odd.${suffix%=*}" >"$out" || fail "odd name, ${suffix%=*}"
    protoc --decode="${message%/*}" "report/proto/${message#*/}.proto" <"$dir/odd.${suffix%=*}" \
        >"$dir/odd.txt" 2>"$out.err" || fail "odd name: protoc cannot decode ${suffix%=*}"
    [ -s "$out.err" ] && fail "odd name: $(head -1 "$out.err")"
    grep -q 'odd??name\\302\\265' "$dir/odd.txt" || fail "odd name, ${suffix%=*}: lost"
done

# the other commands
$systole gemm 256x256x256 --mode timing --trace "$dir/g.pftrace" >"$out" || fail "gemm"
[ "$(events)" -gt 100 ] || fail "gemm: $(cat "$out")"
train="train examples/mnist_mlp.json --tpu v3-8 --batch 64"
$systole $train --steps 2 --trace "$dir/t.pftrace" --trace-level op --out "$dir/new" >"$out" \
    || fail "train: $(cat "$out")"
grep -q "^trace written to $dir/t.pftrace" "$out" || fail "train: $(cat "$out")"
protoc --decode=Trace report/proto/perfetto.proto <"$dir/t.pftrace" >"$dir/steps.txt"
for step in 1 2; do     # a text stands once in the file, with the number that slices refer to
    number=$(grep -B 1 "name: \"epoch 1 step $step\"" "$dir/steps.txt" | sed -n 's/ *iid: //p')
    [ "$(grep -c "name_iid: $number$" "$dir/steps.txt")" -ge 8 ] || fail "no step $step on 8 cores"
done
grep -q '"all-reduce"' "$dir/steps.txt" || fail "no source operations"
$systole $train --steps 1 --trace "$dir/new/t.xplane.pb" --trace-level step --out "$dir/new" \
    >"$out" || fail "train: $(cat "$out")"

# a fault leaves what was seen up to it
printf '{ s1 = smov 1 }\n{ v0 = vld [vmem:32768] }\n{ shalt }\n' >"$dir/bad.tasm"
$systole run "$dir/bad.tasm" --trace "$dir/bad.pftrace" >"$out" 2>&1 && fail "no fault"
grep -qa 'fault' "$dir/bad.pftrace" || fail "the fault is not in the trace"

expect() {          # exit status, part of the message, arguments
    wanted=$1 message=$2; shift 2
    $systole "$@" >"$out" 2>"$out.err"
    got=$?
    [ $got -eq "$wanted" ] || fail "$*: exit status $got instead of $wanted"
    grep -qF -- "$message" "$out.err" || fail "$*: says \"$(head -1 "$out.err")\""
}
suffixes=".strace, .pftrace, .xplane.pb or .kanata"
expect 1 "the trace is to be $dir/t.png; its name must end in $suffixes" \
    run $ex --trace "$dir/t.png"
expect 1 "its name must end in" gemm 8x8x8 --trace "$dir/pftrace"
expect 1 "cannot write $dir/no/t.pftrace" run $ex --trace "$dir/no/t.pftrace"
expect 1 "cannot write /dev/full" run $ex --trace /dev/full/t.pftrace
expect 2 'its first cycle, 20000, is not before its end, 10000' \
    run $ex --trace "$dir/t.pftrace" --trace-window 20k:10k
expect 2 'cycles A:B are needed, such as' run $ex --trace "$dir/t.pftrace" --trace-window 20
expect 2 'cycles A:B are needed, such as' run $ex --trace "$dir/t.pftrace" --trace-window 2x:3
expect 2 'cycles A:B are needed, such as' run $ex --trace "$dir/t.pftrace" --trace-window 1:0
expect 2 'cycles A:B are needed, such as' \
    run $ex --trace "$dir/t.pftrace" --trace-window :9999999999999999999999
expect 2 'allowed are whole numbers from 0 (no limit) on' \
    run $ex --trace "$dir/t.pftrace" --trace-max-events few
expect 2 '"bundel"' run $ex --trace "$dir/t.pftrace" --trace-level bundel
expect 1 'go with --trace FILE or --out DIR' gemm 8x8x8 --trace-level op
expect 2 'do not go together' gemm 8x8x8 --trace "$dir/t.pftrace" --no-trace
expect 2 '--trace shows cycles, which --mode functional does not work out' \
    run $ex --mode functional --trace "$dir/t.pftrace"
expect 2 '--trace belongs to --backend sim' train examples/mnist_mlp.json --backend host \
    --trace "$dir/t.pftrace"
expect 2 'which trace?' export
expect 2 '-o FILE or --format NAME is needed, one of them' export "$dir/a.strace"
expect 2 'one of them' export "$dir/a.strace" -o "$dir/e.pftrace" --format perfetto
expect 2 'only one trace may be given, not' export "$dir/a.strace" "$dir/a.strace" -o "$dir/e.pftrace"
expect 1 'there is no format "perfeto" (did you mean "perfetto"?)' \
    export "$dir/a.strace" --format perfeto
for format in chrome json json.gz; do
    expect 1 "$format: the JSON of Chrome is gone; write for Perfetto" \
        export "$dir/a.strace" --format $format
done
expect 1 "$dir/e.json.gz: the JSON of Chrome is gone; write for Perfetto" \
    export "$dir/a.strace" -o "$dir/e.json.gz"
expect 1 "$dir/t.json: the JSON of Chrome is gone" run $ex --trace "$dir/t.json"
expect 1 "the trace is to be $dir/e.txt; its name must end in .pftrace, .xplane.pb or .kanata" \
    export "$dir/a.strace" -o "$dir/e.txt"
expect 1 'nowhere.strace' export nowhere.strace -o "$dir/e.pftrace"
expect 1 'README.md' export README.md -o "$dir/e.pftrace"
expect 1 'trace.strace' export "$dir/new" -o "$dir/e.pftrace"
expect 1 'there is no core 8; the trace has cores 0..7' \
    export "$dir/a.strace" -o "$dir/e.pftrace" --core 8
expect 1 'core 1 ran no program' export "$dir/d.strace" -o "$dir/e.pftrace" --core 1
expect 1 'the window begins at cycle 9000000, the trace ends at' \
    export "$dir/a.strace" -o "$dir/e.pftrace" --window 9M:
expect 1 'recorded at level op and has nothing of level slot' \
    export "$dir/d.strace" -o "$dir/e.pftrace" --level slot
expect 1 'kanata shows bundles, which level op does not have' \
    export "$dir/d.strace" -o "$dir/e.kanata"
expect 1 "cannot write $dir/no/e.pftrace" export "$dir/a.strace" -o "$dir/no/e.pftrace"
for name in "$dir"/t.* "$dir"/e.*; do
    case $name in
    "$dir/t.pftrace"|"$dir/t.*"|"$dir/e.*") ;;
    *) fail "a failed command left $name" ;;
    esac
done
for sink in pftrace xplane.pb kanata; do
    ln -s /dev/full "$dir/full.$sink"
    expect 1 "cannot write $dir/full.$sink: No space left on device" \
        export "$dir/a.strace" -o "$dir/full.$sink"
done
# what is cut short is exported as far as it goes, and says so
head -c 100000 "$dir/a.strace" >"$dir/cut.strace"
$systole export "$dir/cut.strace" -o "$dir/cut.pftrace" >"$out" 2>"$out.err" \
    || fail "cut: $(cat "$out.err")"
[ -s "$out.err" ] || fail "a trace that is cut short is taken as whole"
exit $status

#!/bin/sh
# systole check: what it prints and writes, and how it fails.
systole=${SYSTOLE:-./systole}
out=${TMPDIR:-/tmp}/systole_check.$$
trap 'rm -f "$out" "$out".*' EXIT
status=0
fail() { echo "check: $*"; status=1; }

$systole check numerics --tpu v3 --samples 1024 --rows --csv "$out.csv" --json "$out.json" >"$out" ||
    fail "numerics fails"
grep -q 'rows are within their bounds$' "$out" || fail "no verdict"
grep -q '^What rounding order changes' "$out" || fail "no section on orders"
for op in vadd vpow2 vpack.c vadd.xlane sadd vcvt.f32.s32 matmul; do
    grep -q "^$op  .*PASS$" "$out" || fail "$op is not listed"
done
for passes in 'N 128 ' 'N 128 x3 ' 'N 128 x6 '; do
    grep -q "^matmul .*$passes" "$out" || fail "no product \"$passes\""
done
rows=$(grep -c 'PASS$' "$out")
[ "$(wc -l <"$out.csv")" -eq $((rows + 1)) ] || fail "the CSV has not $rows rows"
grep -c '"max_relative"' "$out.json" | grep -qx "$rows" || fail "the JSON has not $rows rows"
grep -q '^exact sums of 4 ' "$out" || fail "quad4 is not among the orders"
grep -q '"order": "OpenBLAS"' "$out.json" || fail "the JSON has no orders"

# without --rows: a line for all kinds of inputs, and what is exact by name only
$systole check numerics --tpu v3 --samples 1024 --op vadd,vmax,vtanh,matmul --dtype f32 >"$out" ||
    fail "the short table fails"
[ "$(grep -c 'PASS$' "$out")" -eq 17 ] || fail "the short table has not 17 lines"
grep -q '^vadd  .* heavy .* 100.0 %  PASS$' "$out" || fail "the short table lacks vadd"
sed -n '/^exact to the last bit/{n;p;}' "$out" | grep -qx '  vmax f32' || fail "vmax is not exact"
grep -q '^all 72 rows are within their bounds; --rows prints them$' "$out" || fail "no verdict"
[ "$(awk '{ if (length > n) n = length } END { print n }' "$out")" -le 120 ] || fail "too wide"

# what does not fit is named
$systole check numerics --tpu tiny --op matmul --dtype bf16 --samples 1024 >"$out" ||
    fail "a small chip fails"
sed -n '/^left out, too large for the vector memory:/,$p' "$out" |
    grep -q '^ .*matmul bf16, K 2048, N 256 x1' ||
    fail "what is left out is not named"

# never changed by the path; changed by the seed
for path in c auto; do
    $systole check numerics --op vtanh,matmul --dtype f32,bf16 --tpu tiny --samples 1024 \
        --simd $path >"$out.$path"
done
cmp -s "$out.c" "$out.auto" || fail "the path changes a figure"
grep -q '^vadd' "$out.c" && fail "--op does not select"
$systole check numerics --op vtanh,matmul --dtype f32,bf16 --tpu tiny --samples 1024 --seed 2 \
    >"$out.seed"
cmp -s "$out.seed" "$out.auto" && fail "the seed changes nothing"

$systole check numerics --op vpack.c --dtype s8,u8 --samples 1024 --rows >"$out" || fail "packs fail"
grep -q '^vpack.c  *u8 ' "$out" || fail "--dtype selects too little"
grep -q ' bf16 ' "$out" && fail "--dtype selects too much"

$systole check optimizers 'Adam(0.1)' 'SGD(CosineDecay(0.1, 9), momentum=0.9)' --steps 9 >"$out" ||
    fail "optimizers fails"
head -1 "$out" | grep -qx '9 steps on one core of v3-1, against doubles' || fail "no heading"
grep -q '^ [0-9.]*e-0[678] .*  Adam(0.1)$' "$out" || fail "Adam is not listed"
grep -qx 'all 2 are within 1e-5' "$out" || fail "no verdict on optimizers"
$systole check optimizers --list >"$out" || fail "--list fails"
grep -qx 'AdamW(learning_rate=0.001, weight_decay=0.004, beta_1=0.9, beta_2=0.999, epsilon=1e-07, amsgrad=False)' \
    "$out" || fail "--list has no AdamW"
grep -q '^beta_1  *0..0.999999  *decay of the mean of gradients$' "$out" || fail "no beta_1"
grep -qx 'CosineDecay(initial_learning_rate, decay_steps, alpha=0, warmup_target=None, warmup_steps=0)' \
    "$out" || fail "--list has no CosineDecay"

expect() {          # exit status, first line of the message, arguments
    wanted=$1 message=$2; shift 2
    $systole check "$@" >"$out" 2>"$out.err"
    got=$?
    [ $got -eq "$wanted" ] || fail "$*: exit status $got instead of $wanted"
    case $(head -1 "$out.err") in
        "$message"*) ;;
        *) fail "$*: says \"$(head -1 "$out.err")\"" ;;
    esac
    [ -s "$out" ] && fail "$*: prints something before it fails"
}
expect 2 'systole check: needs one of: numerics'
expect 2 'systole check: unknown check "numeric"; needs one of: numerics' numeric
expect 1 'systole: unknown operation "vpow" (did you mean "vpow2"?); systole check numerics --help lists' \
    numerics --op vadd,vpow
expect 1 'systole: unknown type "f23" (did you mean "f32"?); there are f32, bf16, ' \
    numerics --dtype f23
expect 1 'systole: none of these operations has operands of these types' \
    numerics --op vtanh --dtype s32
expect 1 'systole: unknown simd path "neon"' numerics --simd neon
expect 1 'systole: unknown chip "v33"' numerics --tpu v33
expect 2 'systole check numerics: --samples is "0", allowed are whole numbers in 1..16777216' \
    numerics --samples 0
expect 1 'systole: cannot write nowhere/x.csv: ' numerics --csv nowhere/x.csv
expect 1 'systole: no optimizer "adm" (did you mean "Adam"?)' optimizers adm
expect 1 'systole: Adam: beta_1 is 2, allowed are 0..0.999999' optimizers 'Adam(beta_1=2)'
expect 2 'systole check optimizers: --steps is "0", allowed are whole numbers in 1..10000' \
    optimizers --steps 0
expect 1 'systole: unknown chip "v33"' optimizers --tpu v33
$systole check --help | grep -q '^  numerics ' || fail "help does not list numerics"
$systole check numerics --help | grep -q 'systole check numerics --op vpow2' ||
    fail "help has no example"
$systole check numerics --help | grep -q '^Operations: vadd, vsub, ' || fail "help has no operations"
exit $status

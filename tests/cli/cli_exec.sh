#!/bin/sh
# systole exec and hlo: small programs in every form, what they print, and how they fail.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/cli_rig.inc

cat >"$work/add.hlo" <<'END'
HloModule sums, entry_computation_layout={(f32[3,5]{1,0}, s32[4]{0})->(f32[3,5]{1,0}, s32[])}

plus {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b)
}

ENTRY main {
  x = f32[3,5]{1,0} parameter(0)
  n = s32[4]{0} parameter(1)
  two = f32[] constant(2)
  twos = f32[3,5]{1,0} broadcast(two), dimensions={}
  y = f32[3,5]{1,0} multiply(x, twos), metadata={op_name="model/double" source_file="model.py" source_line=7}
  zero = s32[] constant(0)
  total = s32[] reduce(n, zero), dimensions={0}, to_apply=plus
  ROOT out = (f32[3,5]{1,0}, s32[]) tuple(y, total)
}
END
cat >"$work/add.mlir" <<'END'
module @sums {
  func.func public @main(%x: tensor<3x5xf32>, %n: tensor<4xi32>) -> (tensor<3x5xf32>, tensor<i32>) {
    %two = stablehlo.constant dense<2.0> : tensor<3x5xf32>
    %y = stablehlo.multiply %x, %two : tensor<3x5xf32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %total = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
    return %y, %total : tensor<3x5xf32>, tensor<i32>
  }
}
END
gzip -k "$work/add.mlir"

# each form on both backends, results of one the other's expectations
"$systole" exec "$work/add.hlo" --backend host --input 0=iota --input 1=iota --out "$work/host" >"$work/log" 2>&1 ||
    fail "exec --backend host: $(cat "$work/log")"
for form in add.hlo add.mlir add.mlir.gz; do
    for backend in host cores; do
        expect 0 '2 of 2 results are within' exec "$work/$form" --backend $backend --input 0=iota \
            --input 1=iota --expect "$work/host/outputs.safetensors"
    done
    expect 0 '2 of 2 results are within' exec "$work/$form" --compare
done
expect 1 'of 2 results are within' exec "$work/add.hlo" --input 0=ones --input 1=iota \
    --expect "$work/host/outputs.safetensors"
for file in result_0.npy result_1.npy outputs.safetensors; do
    [ -s "$work/host/$file" ] || fail "--out left no $file"
done
expect 0 'model/double' exec "$work/add.hlo" --mode timing

# at the highest precision every rounding to bf16 that the program has takes place
cat >"$work/rounds.hlo" <<'END'
HloModule rounds
ENTRY main {
  p = f32[64,64] parameter(0)
  b = bf16[64,64] convert(p)
  w = f32[64,64] convert(b)
  q = f32[64,64] add(w, p)
  d = bf16[64,64] dot(b, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[64,64] convert(d)
  m = bf16[64,64] multiply(b, b)
  n = bf16[64,64] add(m, b)
  ROOT t = (f32[64,64], f32[64,64], bf16[64,64]) tuple(q, e, n)
}
END
for tpu in v3 v5e v6e; do
    expect 0 '3 of 3 results are within' exec "$work/rounds.hlo" --compare --precision highest --tpu $tpu
    [ "$(grep -c ' equal$' "$work/log")" -eq 3 ] || fail "$tpu: roundings are lost: $(cat "$work/log")"
done

# tables speak the program's names, and of a kernel of several operations all of them
cat >"$work/fused.hlo" <<'EOF'
HloModule fused
ENTRY main {
  x = f32[64,256] parameter(0)
  y = f32[64,256] multiply(x, x), metadata={op_name="model/square" source_file="model.py" source_line=3}
  ROOT z = f32[64,256] tanh(y), metadata={op_name="model/tanh" source_file="model.py" source_line=4}
}
EOF
expect 0 'model/tanh (model.py:4)' exec "$work/fused.hlo" --out "$work/fused"
grep -q 'model/square (model.py:3); model/tanh (model.py:4),model/tanh (model.py:4)' "$work/fused/ops.csv" ||
    fail "ops.csv does not name what is in a fusion: $(cat "$work/fused/ops.csv")"

# results go round: 3 * 2^4
expect 0 '16' exec "$work/add.hlo" --input 0=ones --input 1=ones --steps 4 --carry 0

# c128: NumPy's own type in .npy, in the other order too; F64 with a dimension of both parts in safetensors
cat >"$work/wide.hlo" <<'END'
HloModule wide
ENTRY main {
  p = c128[2,3] parameter(0)
  ROOT n = c128[2,3] negate(p)
}
END
expect 0 'c128' exec "$work/wide.hlo" --backend host --input 0=iota --out "$work/wide"
npy=$work/wide/result_0.npy
grep -qa "'<c16'" "$npy" || fail "a result of c128 is not written as <c16"
[ "$(wc -c <"$npy")" -eq $((256 + 96)) ] || fail "six of c128 take $(wc -c <"$npy") bytes of .npy"
grep -qa '"F64","shape":\[2,3,2\]' "$work/wide/outputs.safetensors" ||
    fail "c128 is not pairs of F64: $(head -c 120 "$work/wide/outputs.safetensors")"
expect 0 '1 of 1 results are within' exec "$work/wide.hlo" --backend host --input 0=iota \
    --expect "$work/wide/outputs.safetensors"
for back in "--input 0=$npy" "--inputs $work/wide/outputs.safetensors"; do
    # shellcheck disable=SC2086
    expect 0 'c128' exec "$work/wide.hlo" --backend host $back --out "$work/twice"
    expect 0 '1 of 1 results are within' exec "$work/wide.hlo" --backend host \
        --input "0=$npy" --expect "$work/twice/outputs.safetensors"
done
sed 's/False/True /' "$npy" >"$work/fortran.npy"
expect 0 'Fortran-ordered c16' exec "$work/wide.hlo" --backend host --input "0=$work/fortran.npy"

# the user's mistakes, a line each
refuse 'parameter 1 (n)' exec "$work/add.hlo" --input 1=rand
refuse 'the program has 2 parameters' exec "$work/add.hlo" --input 2=ones
refuse 'result 1 is s32[]' exec "$work/add.hlo" --steps 2 --carry 1:1
expect 2 'it needs --steps' exec "$work/add.hlo" --carry 0
refuse 'is s32[4], this is f32[3,5]' exec "$work/add.hlo" --input "1=$work/host/result_0.npy"
printf '' >"$work/file"
refuse 'is a file; name a folder' exec "$work/add.hlo" --backend host --out "$work/file"
refuse 'no_such_file' exec "$work/no_such_file.hlo"
expect 2 'timing mode has no values' exec "$work/add.hlo" --mode timing --compare
printf 'HloModule m\nENTRY e {\n  a = f32[2] parameter(0)\n  ROOT b = f32[2] multiplie(a, a)\n}\n' >"$work/bad.hlo"
refuse 'bad.hlo:4:' exec "$work/bad.hlo"
grep -q 'did you mean "multiply"' "$work/log" || fail "no nearest name: $(cat "$work/log")"
printf 'HloModule m\nENTRY e {\n  a = f32[2] parameter(0)\n  ROOT b = f32[3] add(a, a)\n}\n' >"$work/bad.hlo"
refuse 'bad.hlo:4:' exec "$work/bad.hlo"
printf 'HloModule m\nENTRY e {\n  ROOT a = f32[20] constant({...})\n}\n' >"$work/elided.hlo"
refuse 'print_large_constants' exec "$work/elided.hlo"
# cycles need no elements, those of a loop's body neither, if they are told so
cat >"$work/short.hlo" <<'END'
HloModule m

body {
  s = (s32[], f32[20]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[20] get-tuple-element(s), index=1
  o = s32[] constant(1)
  j = s32[] add(i, o)
  c = f32[20] constant({...})
  y = f32[20] multiply(x, c)
  ROOT t = (s32[], f32[20]) tuple(j, y)
}

condition {
  s = (s32[], f32[20]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(i, n), direction=LT
}

ENTRY e {
  z = s32[] constant(0)
  a = f32[20] constant({...})
  s = (s32[], f32[20]) tuple(z, a)
  w = (s32[], f32[20]) while(s), condition=condition, body=body
  ROOT r = f32[20] get-tuple-element(w), index=1
}
END
expect 0 'leaves out the elements of 2' exec "$work/short.hlo" --tpu v5e --mode timing --assume-constants
expect 0 'leaves out the elements of 2' compile "$work/short.hlo" --tpu v5e --assume-constants
refuse 'print_large_constants' compile "$work/short.hlo" --tpu v5e
expect 2 'assume-constants is for' exec "$work/short.hlo" --tpu v5e --assume-constants
refuse 'its elements are left out' exec "$work/short.hlo" --tpu v5e --mode timing
refuse 'print_large_constants' exec "$work/elided.hlo" --backend host
refuse 'print_large_constants' compile "$work/elided.hlo"
sed 's/f32/s64/' "$work/elided.hlo" >"$work/elided64.hlo"
refuse 'print_large_constants' exec "$work/elided64.hlo"
printf 'HloModule m\nENTRY e {\n  a = f32[2] parameter(0)\n  ROOT b = f32[2] custom-call(a), custom_call_target="lapack_spotrf"\n}\n' >"$work/lapack.hlo"
refuse 'lapack_spotrf' exec "$work/lapack.hlo"
printf 'this is prose.\n' >"$work/prose.txt"
refuse 'prose.txt' exec "$work/prose.txt"
head -c 300 "$work/add.mlir" >"$work/cut.mlir"
refuse 'cut.mlir' exec "$work/cut.mlir"
gzip -c "$work/add.hlo" | head -c 100 >"$work/cut.gz"
refuse 'cut.gz' exec "$work/cut.gz"
refuse 'the gzip ends too soon' compile "$work/cut.gz"

# programs that break a rule stop hlo too, before anything is said of what cannot be run
broken() {          # what is told, lines of the entry
    printf 'HloModule m\nENTRY e {\n%b\n}\n' "$2" >"$work/broken.hlo"
    expect 1 "$1" hlo "$work/broken.hlo"
    grep -q '^systole: .*broken.hlo:[0-9]*:3: ' "$work/log" || fail "no place: $(cat "$work/log")"
    refuse "$1" exec "$work/broken.hlo"
}
broken 'element 5 of a value that has 2' \
    '  a = (f32[2], f32[2]) parameter(0)\n  ROOT b = f32[2] get-tuple-element(a), index=5'
broken 'must be square' '  a = f32[3,4] parameter(0)\n  ROOT b = f32[3,4] cholesky(a), lower=true'
broken 'has no branches' \
    '  a = s32[] parameter(0)\n  ROOT c = s32[] conditional(a, a), branch_computations={}'
printf 'HloModule m\nENTRY e {\n  ROOT a = opaque[] parameter(0)\n}\n' >"$work/opaque.hlo"
refuse 'has no values that could be given' exec "$work/opaque.hlo"
sed 's/-> (tensor<3x5xf32>, tensor<i32>) {/-> tensor<3x5xf32> {/' "$work/add.mlir" >"$work/results.mlir"
refuse 'results.mlir:7:5: func.return: 2 values are returned' exec "$work/results.mlir"

# sizes: no input is made for a program that no chip holds
printf 'HloModule m\nENTRY e {\n  a = f32[4294967296,1024] parameter(0)\n  ROOT b = f32[4294967296,1024] negate(a)\n}\n' >"$work/huge.hlo"
refuse 'huge.hlo:3:3: a: parameter: the cores have no arrays' exec "$work/huge.hlo"
refuse 'huge.hlo:3:3: a: parameter: the cores have no arrays' compile "$work/huge.hlo"
printf 'HloModule m\nENTRY e {\n  a = f32[65536,65536] parameter(0)\n  ROOT b = f32[65536,65536] negate(a)\n}\n' >"$work/big.hlo"
expect 1 'are alive at once' exec "$work/big.hlo" --out "$work/big"
[ ! -e "$work/big" ] || fail 'a program that is refused leaves a folder'

# other commands take the same files
expect 0 'multiply' hlo "$work/add.hlo"
expect 0 'results are within' run "$work/add.hlo" --compare
expect 0 'model/double' compile "$work/add.hlo" --tpu v6e
expect 2 'is an option of Keras models' compile "$work/add.hlo" --batch 3

# rows spread along lanes, in the least vector memory there is
cat >"$work/rows.hlo" <<'END'
HloModule rows

ENTRY main {
  x = f32[16,8]{1,0} parameter(0)
  z = f32[16]{0} parameter(1)
  each = f32[16,8]{1,0} broadcast(z), dimensions={0}
  ROOT a = f32[16,8]{1,0} add(x, each)
}
END
expect 0 'results are within' exec "$work/rows.hlo" --tpu tiny --compare

# names of the program's author: whole in the table, of what is alive, of a loop that is refused
name='jit(step)/jvp(Net)/block_3/attention/query/dot_general (a_file_of_mine.py:7)'
cat >"$work/big.hlo" <<'END'
HloModule big

ENTRY main {
  x = f32[N,N]{1,0} parameter(0)
  y = f32[N,N]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/jvp(Net)/block_3/attention/query/dot_general" source_file="a_file_of_mine.py" source_line=7}
  ROOT z = f32[N,N]{1,0} dot(y, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/mul"}
}
END
sed 's/N,N/64,64/g' "$work/big.hlo" >"$work/small.hlo"
sed -i 's/N,N/60000,60000/g' "$work/big.hlo"
expect 0 "$name" compile "$work/small.hlo" --tpu v3
expect 0 'overlay, ' compile "$work/small.hlo" --tpu v3
expect 1 ' block_3/attention/query/dot_general (a_file_of_mine.py:7)' compile "$work/big.hlo" --tpu v3
expect 1 ' GiB mul' compile "$work/big.hlo" --tpu v3
cat >"$work/loop.hlo" <<'END'
HloModule loop

less {
  s = (s32[], s32[]) parameter(0)
  a = s32[] get-tuple-element(s), index=0
  b = s32[] get-tuple-element(s), index=1
  ROOT c = pred[] compare(a, b), direction=LT
}

more {
  s = (s32[], s32[]) parameter(0)
  a = s32[] get-tuple-element(s), index=0
  b = s32[] get-tuple-element(s), index=1
  d = s32[] add(a, a)
  ROOT t = (s32[], s32[]) tuple(d, b)
}

ENTRY main {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  s = (s32[], s32[]) tuple(a, b)
  ROOT w = (s32[], s32[]) while(s), condition=less, body=more, metadata={op_name="jit(f)/while" source_file="f.py" source_line=3}
}
END
expect 1 '(jit(f)/while (f.py:3)): which way it goes' compile "$work/loop.hlo" --run
expect 0 ' cycles = ' compile "$work/loop.hlo" --run --assume-trips 3

# of numbered branches timing mode takes the first or the last
cat >"$work/three.mlir" <<'END'
module @three {
  func.func public @main(%n: tensor<i32>, %x: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = "stablehlo.case"(%n) ({
      %a = stablehlo.sine %x : tensor<64x64xf32>
      stablehlo.return %a : tensor<64x64xf32>
    }, {
      %b = stablehlo.tanh %x : tensor<64x64xf32>
      stablehlo.return %b : tensor<64x64xf32>
    }, {
      %c = stablehlo.cosine %x : tensor<64x64xf32>
      stablehlo.return %c : tensor<64x64xf32>
    }) : (tensor<i32>) -> tensor<64x64xf32>
    return %r : tensor<64x64xf32>
  }
}
END
for want in true:sine false:cosine; do
    took=$("$systole" compile "$work/three.mlir" --run --assume-branch ${want%:*} |
        awk '$2 ~ /^(sine|tanh|cosine)/ && $8 != "0" { sub(/\..*/, "", $2); print $2 }')
    [ "$took" = "${want#*:}" ] || fail "--assume-branch ${want%:*} takes \"$took\""
done

# at the highest precision quotients and roots are rounded correctly in a program of any usual size
awk 'BEGIN {
    print "HloModule quotients\n\nENTRY main {\n  x = f32[37,129] parameter(0)\n  y = f32[37,129] parameter(1)"
    print "  v0 = f32[37,129] divide(x, y)"
    for (i = 0; i < 320; i++)
        printf "  v%d = f32[37,129] %s(v%d)\n", i + 1, i % 2 ? "negate" : "abs", i
    print "  a = f32[37,129] abs(x)\n  r = f32[37,129] sqrt(a)"
    print "  ROOT out = (f32[37,129], f32[37,129]) tuple(v320, r)\n}"
}' >"$work/quotients.hlo"
"$systole" exec "$work/quotients.hlo" --backend host --out "$work/rounded" >"$work/log" 2>&1 ||
    fail "quotients.hlo on the host: $(cat "$work/log")"
"$systole" exec "$work/quotients.hlo" --tpu v5e --precision highest \
    --expect "$work/rounded/outputs.safetensors" >"$work/log" 2>&1
[ "$(grep -c ' equal$' "$work/log")" -eq 2 ] || fail "quotients or roots are not rounded: $(cat "$work/log")"
"$systole" exec "$work/quotients.hlo" --tpu v5e --expect "$work/rounded/outputs.safetensors" >"$work/log" 2>&1
[ "$(grep -c ' equal$' "$work/log")" -lt 2 ] || fail "exact forms where nobody asked for them"

# a product of complex numbers at default precision takes one pass of bf16 on the host, too
cat >"$work/complex.hlo" <<END
HloModule complex

ENTRY main {
  x = c64[32,16] parameter(0)
  y = c64[16,32] parameter(1)
  ROOT r = c64[32,32] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
END
expect 0 '1 of 1 results are within what is allowed' exec "$work/complex.hlo" --tpu v5e --compare

# of products with f16 both sides take three passes on cores, and go in whole on the host; a bf16 that
# an f32 was rounded to is no more than that
cat >"$work/halves.hlo" <<END
HloModule halves

ENTRY main {
  x = f32[32,16] parameter(0)
  y = f16[16,32] parameter(1)
  b = bf16[32,16] convert(x)
  p = f32[32,32] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  q = f32[32,32] dot(b, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  r = f32[16,16] dot(y, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (f32[32,32], f32[32,32], f32[16,16]) tuple(p, q, r)
}
END
for tpu in v3 v5e v6e; do
    expect 0 '3 of 3 results are within what is allowed' exec "$work/halves.hlo" --tpu $tpu --compare
done

# rows in the order of their ten columns, which are of two values each: what jnp.unique(x, axis=0) does
awk 'BEGIN {
    print "HloModule rows\n\nless {"
    for (k = 0; k < 22; k++) printf "  p%d = s32[] parameter(%d)\n", k, k
    print "  c9 = pred[] compare(p18, p19), direction=LT"
    for (k = 8; k >= 0; k--) {
        printf "  e%d = pred[] compare(p%d, p%d), direction=EQ\n", k, 2 * k, 2 * k + 1
        printf "  l%d = pred[] compare(p%d, p%d), direction=LT\n", k, 2 * k, 2 * k + 1
        printf "  a%d = pred[] and(e%d, c%d)\n  %sc%d = pred[] or(l%d, a%d)\n", k, k, k + 1,
            k ? "" : "ROOT ", k, k, k
    }
    print "}\n\nENTRY main {\n  one = s32[] constant(1)\n  ones = s32[300] broadcast(one), dimensions={}"
    for (k = 0; k < 10; k++)
        printf "  x%d = s32[300] parameter(%d)\n  y%d = s32[300] and(x%d, ones)\n", k, k, k, k
    printf "  n = s32[300] iota(), iota_dimension=0\n  ROOT s = ("
    for (k = 0; k < 11; k++) printf "%ss32[300]", k ? ", " : ""
    printf ") sort("
    for (k = 0; k < 10; k++) printf "y%d, ", k
    print "n), dimensions={0}, is_stable=true, to_apply=less\n}"
}' >"$work/rows.hlo"
expect 0 '11 of 11 results are within what is allowed' exec "$work/rows.hlo" --tpu v5e --compare

# arrays of ten dimensions go through .npy and .safetensors files of as many
cat >"$work/deep.hlo" <<END
HloModule deep

ENTRY main {
  x = f32[2,3,2,2,2,2,2,2,2,2] parameter(0)
  t = f32[2,2,2,2,2,2,2,2,3,2] transpose(x), dimensions={9,8,7,6,5,4,3,2,1,0}
  ROOT back = f32[2,3,2,2,2,2,2,2,2,2] transpose(t), dimensions={9,8,7,6,5,4,3,2,1,0}
}
END
"$systole" exec "$work/deep.hlo" --tpu v5e --out "$work/deep" >"$work/log" 2>&1 &&
    "$systole" exec "$work/deep.hlo" --tpu v5e --input 0="$work/deep/result_0.npy" \
        --expect "$work/deep/outputs.safetensors" >"$work/log" 2>&1 ||
    fail "an array of ten dimensions: $(cat "$work/log")"

[ $failures -eq 0 ]

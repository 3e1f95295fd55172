#!/bin/sh
# Weights and data as Keras users have them: train leaves what evaluate and predict take.
. tests/cli/cli_rig.inc

data=tests/corpus/zip/marks.npz
mlp=examples/mnist_mlp.json
small="--tpu v2-8 --mode functional"

# ----- a training leaves weights, in every format the same; what they are worth it has said
expect 0 "weights in $work/w.keras" train $mlp --data $data $small --batch 64 --epochs 2 \
    --save "$work/w.keras"
said=$(awk '$1 == 2 { print $5 }' "$work/log")
expect 0 'weights of' evaluate "$work/w.keras" --data $data $small --batch 64 --json "$work/e.json"
got=$(awk '$1 == "accuracy" { printf "%.2f", 100 * $2 }' "$work/log")
[ -n "$got" ] && [ "$got" = "$said" ] || fail "accuracy is $got, of the training $said"
grep -q '"samples": 70,' "$work/e.json" && grep -q '"accuracy": ' "$work/e.json" || fail "$(cat "$work/e.json")"
expect 0 "the last of 6 samples" evaluate "$work/w.keras" --data $data $small --batch 64
for format in weights.h5 safetensors; do
    expect 0 "weights in" train $mlp --weights "$work/w.keras" --data $data $small --batch 64 \
        --steps 1 --optimizer 'SGD(0.0)' --save "$work/w.$format"
    expect 0 'loss' evaluate $mlp --weights "$work/w.$format" --data $data:x_test,y_test $small \
        --batch 64 --json "$work/other.json"
    [ "$(sed '/"model"\|"weights"\|"data"/d' "$work/e.json")" = \
        "$(sed '/"model"\|"weights"\|"data"/d' "$work/other.json")" ] ||
        fail "weights in $format: $(cat "$work/other.json")"
done

# ----- a prediction is the same however samples are batched, on the slice and in stages
expect 0 'predicted  f32[70,10]' predict "$work/w.keras" --data $data:x_test $small --batch 64 \
    --out "$work/a.npy"
expect 0 'predicted' predict $mlp --weights "$work/w.weights.h5" --data $data:x_test --tpu v3-8 \
    --batch 24 --out "$work/b.npy"
grep -q 'cycles' "$work/log" || fail "no cycles: $(cat "$work/log")"
cmp -s "$work/a.npy" "$work/b.npy" || fail "a prediction depends on the batch"
expect 0 'predicted' predict "$work/w.keras" --data $data:x_test $small --batch 64 --pipeline 2 \
    --out "$work/c.npy"
cmp -s "$work/a.npy" "$work/c.npy" || fail "a prediction depends on stages"

# ----- what is not there, or not what it should be
expect 1 "holds no weights; it is a model's structure; --weights FILE takes others" evaluate $mlp --data $data
refuse 'has no array "x_tset" (did you mean "x_test.npy"?)' predict "$work/w.keras" --data $data:x_tset --out "$work/d.npy"
refuse 'names 1 of its arrays; needed are x and y' evaluate "$work/w.keras" --data $data:x_test
refuse 'x and y to train on, x and y to test with' train $mlp --data $data:x_train,y_train
expect 2 'a prediction needs samples and a place' predict "$work/w.keras" --data $data:x_test
expect 2 '.weights.h5, .keras, .safetensors' train $mlp --save "$work/w.h5"
expect 2 '--weights does not go with --resume' train $mlp --weights "$work/w.keras" --resume --checkpoint "$work/k"
refuse 'layer "dense": its "kernel" is (3, 2) in the file' train $mlp --weights tests/corpus/zip/model.keras
refuse 'holds no model: it is a zip archive of x_train.npy' train $data
refuse 'holds no model: it is an HDF5 file of weights alone' summary tests/corpus/h5/places.weights.h5
refuse 'no/such/folder' train $mlp --save no/such/folder/w.keras
[ ! -e "$work/d.npy" ] || fail "a refused prediction leaves a file"
expect 0 'inner' summary tests/corpus/h5/whole.h5 --plain
expect 0 'kernels' compile tests/corpus/zip/model.keras --inference
head -c 900 "$work/w.keras" >"$work/cut.keras"
refuse 'is no whole zip archive' evaluate "$work/cut.keras" --data $data

# ----- samples have the model's shape, whatever has as many elements; bytes are pixels, truths not
npy() {                                 # FILE TYPE SHAPE BYTES
    { printf '\223NUMPY\001\000\166\000'
      printf "%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': ($3), }"
      printf "$4"; } >"$1"
}
model() {                               # FILE LAYER: of samples [2, 3, 1], and what the layer makes
    printf '%s' '{"class_name": "Sequential", "config": {"name": "s", "layers": [' \
        '{"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [null, 2, 3, 1]}}, ' \
        "$2" ', {"class_name": "Flatten", "config": {"name": "f"}}]}}' >"$1"
}
values() { tail -c 24 "$1" | od -An -tfF | awk '{ for (i = 1; i <= NF; i++) printf " %g", $i }'; }
model "$work/raw.json" '{"class_name": "Rescaling", "config": {"name": "r", "scale": "1./255"}}'
model "$work/unit.json" '{"class_name": "Rescaling", "config": {"name": "r", "scale": 2}}'
npy "$work/u1.npy" '|u1' '1, 2, 3' '\000\063\146\231\314\377'
npy "$work/b1.npy" '|b1' '1, 2, 3' '\000\001\001\000\000\001'
npy "$work/turned.npy" '|u1' '1, 3, 2' '\000\063\146\231\314\377'
npy "$work/row.npy" '|u1' '1, 6' '\000\063\146\231\314\377'
for array in u1 row; do
    expect 0 "$array.npy: bytes are read as 0..255, which the model scales itself" \
        predict "$work/raw.json" --data "$work/$array.npy" --out "$work/p.npy" --backend host
    [ "$(values "$work/p.npy")" = ' 0 0.2 0.4 0.6 0.8 1' ] ||
        fail "bytes into Rescaling(1/255): $(values "$work/p.npy")"
done
expect 0 'u1.npy: bytes are read as 0..1' \
    predict "$work/unit.json" --data "$work/u1.npy" --out "$work/p.npy" --backend host
[ "$(values "$work/p.npy")" = ' 0 0.4 0.8 1.2 1.6 2' ] || fail "bytes: $(values "$work/p.npy")"
expect 0 'b1.npy: b1 elements are read as i4' \
    predict "$work/unit.json" --data "$work/b1.npy" --out "$work/p.npy" --backend host
[ "$(values "$work/p.npy")" = ' 0 2 2 0 0 2' ] || fail "truths: $(values "$work/p.npy")"
refuse 'turned.npy: samples are u8[3,2], model s takes f32[2,3,1]' \
    predict "$work/raw.json" --data "$work/turned.npy" --out "$work/p.npy" --backend host

# ----- a file's policy is the run's unless another is said; types that cores have not are named
sed 's/"float32"/"mixed_float16"/' $mlp >"$work/half.json"
grep -q mixed_float16 "$work/half.json" || fail "no policy in $mlp"
expect 0 'layers of policy mixed_float16 are computed as mixed_bfloat16' train "$work/half.json" \
    --data $data $small --batch 64 --steps 1
grep -q 'policy mixed_bfloat16,' "$work/log" || fail "another policy: $(cat "$work/log")"
expect 0 'policy float32,' train "$work/half.json" --data $data $small --batch 64 --steps 1 \
    --policy float32
expect 0 'mixed_bfloat16, 8 samples' summary "$work/half.json"

# ----- samples to train on alone
mkdir "$work/alone" && (cd "$work/alone" && unzip -q "$OLDPWD/$data" x_train.npy y_train.npy 2>/dev/null &&
    python3 -c "import zipfile; z = zipfile.ZipFile('../alone.npz', 'w')
for name in ('x_train.npy', 'y_train.npy'): z.write(name)" 2>/dev/null)
if [ -f "$work/alone.npz" ]; then
    refuse "has no \"x_test\" to test with; others are named as in $work/alone.npz:x_train,y_train,x_train,y_train" \
        train $mlp --data "$work/alone.npz" $small --batch 64 --steps 1
    expect 0 '256 training and 256 test' train $mlp --data "$work/alone.npz:x_train,y_train,x_train,y_train" $small \
        --batch 64 --steps 1
fi

[ $failures -eq 0 ]

#!/bin/sh
# same_results.sh OLD NEW [REFERENCE]: do two builds of systole give the same cycles, losses and
# bits? OLD and NEW are programs; both run the examples, products, convolutions, collectives,
# compilations and short trainings, and what they print and write is compared. With REFERENCE, a
# folder of measurements, `check hardware` as well. For moves and renames, which may change nothing.
[ $# -ge 2 ] || { echo "usage: tools/same_results.sh OLD NEW [REFERENCE]"; exit 2; }
old=$(realpath "$1") || exit 2
new=$(realpath "$2") || exit 2
reference=${3:+$(realpath "$3")}
for program in "$old" "$new"; do
    [ -f "$program" ] && [ -x "$program" ] || { echo "same_results.sh: $program is no program"; exit 2; }
done
cd "$(dirname "$0")/.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

run_all() {     # program, folder for what it says
    program=$1 out=$2
    mkdir -p "$out"
    for file in examples/*.tasm; do
        for chip in v2 v3 v4 v5e v5p v6e v7x; do
            "$program" run "$file" --tpu "$chip" >"$out/run_$(basename "$file")_$chip" 2>&1
        done
    done
    for chip in v2 v3 v4 v5e v5p v6e v7x; do
        "$program" gemm 512x384x640 --tpu "$chip" >"$out/gemm_$chip" 2>&1
        "$program" gemm 300x700x500 --tpu "$chip" --codegen xla >"$out/gemm_xla_$chip" 2>&1
        "$program" conv 8x14x14x64 3x3x64x96 --tpu "$chip" >"$out/conv_$chip" 2>&1
        for model in mnist_mlp mnist_cnn resnet_small; do
            "$program" compile "examples/$model.json" --tpu "$chip" --batch 64 \
                >"$out/compile_${model}_$chip" 2>&1
        done
        "$program" check numerics --tpu "$chip" >"$out/numerics_$chip" 2>&1
    done
    for kind in all-reduce all-gather reduce-scatter all-to-all; do
        "$program" collective "$kind" --bytes 1M --tpu v3-32 >"$out/collective_$kind" 2>&1
    done
    for way in "" --shard-state "--micro-batches 2" "--steps-per-execution 2"; do
        name=train_$(echo "$way" | tr -c 'a-z0-9\n' _)
        # shellcheck disable=SC2086 # the way is words
        "$program" train examples/mnist_mlp.json --tpu v3-8 --batch 128 --epochs 1 \
            --steps-per-epoch 6 $way --csv-log "$out/$name.csv" --out "$out/$name" \
            >"$out/$name.txt" 2>&1
    done
    [ -z "$reference" ] || "$program" check hardware --csv "$out/hardware.csv" "$reference" \
        >"$out/hardware" 2>&1
}

# what differs by nature: wall-clock times, the folder's name, the program's name and version
plain() {
    find "$1" -name '*.strace' -exec rm {} +
    find "$1" -type f | while read -r file; do
        sed -i -e "s|$1|OUT|g" -e "s|$2|PROGRAM|g" -e '/host/d' -e '/seconds/d' -e '/^compiled in /d' \
            -e '/^ *[0-9.e-]*,\{0,1\}$/d' -e 's/[0-9.]* s by the clock//' \
            -e 's/in [0-9.]* \(ms\|s\|min\)\b//' "$file"
        case $file in
            */train_*.txt) sed -i 's/  *[0-9.]*$//' "$file" ;;  # the clock of an epoch
        esac
    done
}

run_all "$old" "$dir/old"
run_all "$new" "$dir/new"
plain "$dir/old" "$old"
plain "$dir/new" "$new"
count=$(find "$dir/old" -type f | wc -l)
if diff -r "$dir/old" "$dir/new"; then
    echo "$count files of results are the same"
else
    echo "results differ"
    exit 1
fi

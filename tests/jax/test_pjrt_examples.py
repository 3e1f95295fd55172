"""Every script of examples/jax on simulated devices, beside JAX's own CPU backend."""
import os
import sys

import held

# Bounds are absolute, then relative to the number. Products that ask for the highest precision, and
# what has none, are held to some roundings of f32; by default a product's factors are rounded to bf16,
# 2^-9 of each, which losses of some units show in the third digit after the first steps.
CASES = [
    ("while_loop.py", "v5e-1", 1, 2e-6, 1e-5),
    ("pmap_sgd.py", "v5e-8", 8, 2e-6, 1e-5),
    ("shard_map_collectives.py", "v5e-8", 8, 2e-6, 1e-5),
    ("checkpoint_remat.py", "v3-8", 8, 2e-6, 1e-5),
    ("save_restore.py", "v6e-1", 1, 2e-5, 1e-4),
    ("callbacks.py", "v5e-1", 1, 2e-6, 1e-5),
    # its products are of bf16 on the CPU, too
    ("mixed_precision.py", "v5e-1", 1, 2e-3, 4e-3),
    ("transformer_flax.py --steps 6", "v5e-8", 8, 2e-2, 1e-2),
    ("mnist_keras.py --steps 4 --batch 16 --filters 16", "v2-8", 8, 2e-2, 1e-2),
]


def main():
    failed = 0
    for words, tpu, devices, absolute, relative in CASES:
        script, *arguments = words.split()
        try:
            got, _ = held.on_tpu(tpu, script, *arguments)
            held.compare(f"{script} on {tpu}", got, held.on_cpu(script, *arguments, devices=devices),
                         absolute, relative)
        except AssertionError as e:
            print(f"FAILED: {e}")
            failed += 1
    covered = {words.split()[0] for words, *_ in CASES}
    covered |= {"digits.py", "lower_variants.py", "pallas_matmul.py"}    # test_pallas_tune.py
    missed = set(os.listdir(held.EXAMPLES)) - covered - {"__pycache__"}
    if missed:
        print(f"FAILED: examples without a test: {sorted(missed)}")
    return bool(failed or missed)


if __name__ == "__main__":
    sys.exit(main())

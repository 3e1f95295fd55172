"""Writes tests/import/data/pallas: kernels of Pallas as JAX exports them for the TPU, arguments, and
what JAX's TPU interpret mode makes of them. Usage: export_pallas.py FOLDER [NAME...]"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "pallas"))
from interpret import tell_chip  # noqa: E402

import jax  # noqa: E402
import jax.export  # noqa: E402
import numpy as np  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

import few_rows  # noqa: E402
import guide  # noqa: E402
import libraries  # noqa: E402
import models  # noqa: E402
import parts  # noqa: E402
import primitives  # noqa: E402
import products  # noqa: E402
import routing  # noqa: E402
import scalars  # noqa: E402
import searches  # noqa: E402
import sequences  # noqa: E402
import steps  # noqa: E402
import users  # noqa: E402
from count_pallas import BOUND, argument, saved, values_of  # noqa: E402
from kernels import KERNELS  # noqa: E402

# places in the source without the folder in which it was exported
jax.config.update("jax_hlo_source_file_canonicalization_regex", "^.*/")

CHECKS = [jax.export.DisabledSafetyCheck.custom_call("tpu_custom_call")]

# of many those that failed once
FAILED = ("recurrence linear_attention int16_sums int16_wrap uint4 int4_product fp8_both fp8_quantize "
          "fp8_rows many_arrays bf16_wide8 bf16_rows24 bf16_pieces int8_rows8 scatter_rows "
          "gather_rows heads_of heads_of_int8 head_products sums_of_products smem_blocks smem_rows "
          "smem_results clamp_nan wide_softmax odd_columns blocks_backwards labels_of sized_parts taken_lanes "
          "turned_dimensions fp8_blocks selective_scan delta_rule decays_unrolled columns_counted "
          "routed best_lanes best_eight attention_bias wide_norm wide_norm_gradient").split()
LARGE = ("wide_softmax", "odd_columns", "routed", "best_lanes", "best_eight",
         "attention_bias", "wide_norm", "wide_norm_gradient")           # whose arguments are not kept
KEPT = [case for file in (models, routing, parts, steps, libraries, searches, sequences)
        for case in file.CASES if case[0] in FAILED]
# of other dimensions than matrices have, of few rows, of scalars
OTHERS = [(*case, BOUND)[:4] for case in products.BY_NAME + scalars.BY_NAME + few_rows.CASES
          if case[0] not in ("pages_f32_4", "pages_bf16_2", "pages_bf16_8", "pages_all_4",
                             "rope_heads_f32", "rope_heads_many")]
# of the guide's those between devices
BETWEEN = [(*case, 1e-6) for case in guide.CASES
           if getattr(case[1], "__name__", "") == "exchange"]


def main(folder, names):
    tell_chip("v5e")
    for name, function, shapes, bound in (KERNELS + users.CASES + BETWEEN + KEPT +
                                          libraries.PADDED + primitives.CASES + OTHERS):
        if names and name not in names:
            continue
        rng = np.random.default_rng(7)
        args = [argument(rng, s) for s in shapes]
        exported = jax.export.export(jax.jit(function), platforms=["tpu"],
                                     disabled_checks=CHECKS)(*args)
        with open(f"{folder}/{name}.mlirbc", "wb") as f:
            f.write(exported.mlir_module_serialized)
        if bound is None or name in LARGE:      # of random arguments, on host and cores
            continue
        values = values_of(function, args, few_rows.WANTED.get(name))
        save_file({f"{i}": saved(a) for i, a in enumerate(args)},
                  f"{folder}/{name}.inputs.safetensors")
        save_file({f"{i}": saved(v) for i, v in enumerate(values)},
                  f"{folder}/{name}.outputs.safetensors")
        print(f"{name},{bound}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

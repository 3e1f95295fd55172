"""Writes tests/import/data/pallas: kernels of Pallas as JAX exports them for the TPU, arguments, and
what JAX's TPU interpret mode makes of them. Usage: export_pallas.py FOLDER [NAME...]"""
import functools
import os
import sys

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas import tpu as pltpu
from safetensors.numpy import save_file

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "pallas"))
from kernels import KERNELS  # noqa: E402

# places in the source without the folder in which it was exported
jax.config.update("jax_hlo_source_file_canonicalization_regex", "^.*/")

CHECKS = [jax.export.DisabledSafetyCheck.custom_call("tpu_custom_call")]


def argument(rng, s):
    if s.dtype == jnp.int32:
        return jnp.asarray(rng.integers(0, 8, s.shape), jnp.int32)
    return jnp.asarray(rng.standard_normal(s.shape), s.dtype)


def main(folder, names):
    for name, function, shapes, bound in KERNELS:
        if names and name not in names:
            continue
        rng = np.random.default_rng(7)
        args = [argument(rng, s) for s in shapes]
        exported = jax.export.export(jax.jit(function), platforms=["tpu"],
                                     disabled_checks=CHECKS)(*args)
        with open(f"{folder}/{name}.mlirbc", "wb") as f:
            f.write(exported.mlir_module_serialized)
        values = jax.jit(functools.partial(function, interpret=pltpu.InterpretParams()))(*args)
        values = jax.tree.leaves(values)
        save_file({f"{i}": np.asarray(a) for i, a in enumerate(args)},
                  f"{folder}/{name}.inputs.safetensors")
        save_file({f"{i}": np.asarray(v) for i, v in enumerate(values)},
                  f"{folder}/{name}.outputs.safetensors")
        print(f"{name},{bound}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

"""Writes tests/import/data/pallas: kernels of Pallas as JAX exports them for the TPU, arguments, and
what JAX's TPU interpret mode makes of them. Usage: export_pallas.py FOLDER [NAME...]"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "pallas"))
from interpret import interpreted, tell_chip  # noqa: E402

import jax  # noqa: E402
import jax.export  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

import guide  # noqa: E402
import users  # noqa: E402
from kernels import KERNELS  # noqa: E402

# places in the source without the folder in which it was exported
jax.config.update("jax_hlo_source_file_canonicalization_regex", "^.*/")

CHECKS = [jax.export.DisabledSafetyCheck.custom_call("tpu_custom_call")]


def argument(rng, s):
    if jnp.issubdtype(s.dtype, jnp.integer):
        return jnp.asarray(rng.integers(0, 8, s.shape), s.dtype)
    return jnp.asarray(rng.standard_normal(s.shape), s.dtype)


# of the guide's those between devices
BETWEEN = [(*case, 1e-6) for case in guide.CASES
           if getattr(case[1], "__name__", "") == "exchange"]


def main(folder, names):
    tell_chip("v5e")
    for name, function, shapes, bound in KERNELS + users.CASES + BETWEEN:
        if names and name not in names:
            continue
        rng = np.random.default_rng(7)
        args = [argument(rng, s) for s in shapes]
        exported = jax.export.export(jax.jit(function), platforms=["tpu"],
                                     disabled_checks=CHECKS)(*args)
        with open(f"{folder}/{name}.mlirbc", "wb") as f:
            f.write(exported.mlir_module_serialized)
        if bound is None:
            continue
        values = interpreted(function, args)
        save_file({f"{i}": np.asarray(a) for i, a in enumerate(args)},
                  f"{folder}/{name}.inputs.safetensors")
        save_file({f"{i}": np.asarray(v) for i, v in enumerate(values)},
                  f"{folder}/{name}.outputs.safetensors")
        print(f"{name},{bound}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

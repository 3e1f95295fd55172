"""A product written in Pallas, whose blocks are parameters: `systole tune` finds the best.

    systole tune examples/jax/pallas_matmul.py:matmul --vary block_m=256,512,1024 \\
        --vary block_n=256,512 --vary block_k=256,512,1024 --tpu v6e
"""
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

matmul_arguments = [jax.ShapeDtypeStruct((2048, 2048), jnp.bfloat16)] * 2


def matmul(x, y, block_m=512, block_n=512, block_k=512):
    (m, k), n = x.shape, y.shape[1]
    if m % block_m or n % block_n or k % block_k:
        raise ValueError(f"blocks do not divide {m} x {k} x {n}")

    def kernel(x_ref, y_ref, o_ref, acc_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)
        acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = acc_ref[...].astype(o_ref.dtype)

    return pl.pallas_call(
        kernel, grid=(m // block_m, n // block_n, k // block_k),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        in_specs=[pl.BlockSpec((block_m, block_k), lambda i, j, k: (i, k)),
                  pl.BlockSpec((block_k, block_n), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((block_m, block_n), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((block_m, block_n), jnp.float32)],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary")))(x, y)

"""What files of kernels share: names of types, memory spaces and shapes."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F32, BF16 = jnp.float32, jnp.bfloat16
I32, I16, I8, I4 = jnp.int32, jnp.int16, jnp.int8, jnp.int4
FP8, FP8W = jnp.float8_e4m3fn, jnp.float8_e5m2
SMEM = pl.BlockSpec(memory_space=pltpu.SMEM)
VMEM = pl.BlockSpec(memory_space=pltpu.VMEM)
ANY = pl.BlockSpec(memory_space=pl.ANY)


def like(shape, dtype=F32):
    return jax.ShapeDtypeStruct(tuple(shape), dtype)


def call(kernel, out, **settings):
    return pl.pallas_call(kernel, out_shape=out, **settings)

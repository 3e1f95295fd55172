"""Drawn expressions of scalars, as index maps and tables of kernels have them: forty operations over
eight words of SMEM, with quotients and rests of both signs; and some by name.

CASES lists (name, function, shapes of arguments, bound) as library.py does.
"""

import random

import jax.numpy as jnp
import numpy as np
from common import F32, I32, SMEM, call, like
from jax import lax
from jax.experimental import pallas as pl

OPERATIONS = [
    lambda a, b, c: a + b,
    lambda a, b, c: a - b,
    lambda a, b, c: a * 3 - b,
    lambda a, b, c: a // c,
    lambda a, b, c: a % c,
    lambda a, b, c: lax.div(a, c),
    lambda a, b, c: lax.rem(a, c),
    lambda a, b, c: a & b,
    lambda a, b, c: jnp.minimum(a, b),
    lambda a, b, c: jnp.maximum(a, b - c),
    lambda a, b, c: jnp.where(a > b, a, b + 1),
    lambda a, b, c: jnp.where(a % 2 == 0, b // 2, a ^ b),
]


def drawn(seed):
    def function(x):
        def kernel(x_ref, o_ref):
            draw = random.Random(seed)
            values = [x_ref[i] for i in range(8)]
            for _ in range(40):
                a, b = draw.choice(values), draw.choice(values)
                values.append(draw.choice(OPERATIONS)(a, b, draw.choice([2, 3, 4, 5, 7, 8, 16])))
            for i in range(8):
                o_ref[i] = values[-1 - i] + values[-9 - 2 * i]

        return call(kernel, like(x.shape, I32), in_specs=[SMEM], out_specs=SMEM)(x)

    return function


def carried(x):
    """Scalars of both kinds that a loop carries and a choice passes on, stored one by one."""
    def kernel(x_ref, o_ref, f_ref):
        def step(c):
            i, last, sum_ = c
            return i + 1, jnp.where(x_ref[i] > last, x_ref[i], last), sum_ + x_ref[i].astype(F32)
        i, last, sum_ = lax.while_loop(lambda c: (c[0] < 8) & (c[1] < 7), step, (0, 0, 0.0))
        o_ref[0] = i
        o_ref[1] = lax.select(i < 8, last, -1)
        f_ref[0] = sum_ * 0.5
        f_ref[1] = lax.cond(last > 3, lambda: sum_, lambda: 0.0)
    return call(kernel, [like((2,), I32), like((2,))], in_specs=[SMEM], out_specs=[SMEM, SMEM])(x)


def numbers():
    """no operands at all"""
    def kernel(o_ref):
        o_ref[...] = lax.broadcasted_iota(I32, o_ref.shape, 1) + pl.program_id(0) * 100
    return call(kernel, like((24, 300), I32), grid=(3,),
                out_specs=pl.BlockSpec((8, 300), lambda i: (i, 0)))()


COUNT = 40
ARGUMENTS = {
    f"scalars_{i}": {0: np.random.default_rng(i).integers(-50, 50, 8)} for i in range(COUNT)
}
BY_NAME = [("carried_scalars", carried, [like((8,), I32)], 0.0), ("numbers", numbers, [], 0.0)]
CASES = BY_NAME + [(f"scalars_{i}", drawn(i), [like((8,), I32)], 0.0) for i in range(COUNT)]

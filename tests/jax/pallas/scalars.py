"""Drawn expressions of scalars, as index maps and tables of kernels have them: forty operations over
eight words of SMEM, with quotients and rests of both signs.

CASES lists (name, function, shapes of arguments, bound) as library.py does.
"""

import random

import jax.numpy as jnp
import numpy as np
from common import I32, SMEM, call, like
from jax import lax

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


COUNT = 40
ARGUMENTS = {
    f"scalars_{i}": {0: np.random.default_rng(i).integers(-50, 50, 8)} for i in range(COUNT)
}
CASES = [(f"scalars_{i}", drawn(i), [like((8,), I32)], 0.0) for i in range(COUNT)]

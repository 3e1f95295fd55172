"""Kernels drawn by chance: chains of operations on vectors of shapes that no tile is made for.

CASES are those of the seeds SEED to SEED + COUNT - 1 of the environment (1, 20): for count_pallas.py,
which tells those that JAX itself does not lower beside those that are wrong. The same seed is the same
kernel. Comparisons are of numbers of rows and lanes, so that no rounding decides.
"""
import math
import os
import random

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from common import BF16, F32, I8, I16, I32, like

ROWS = [1, 2, 3, 5, 8, 8, 12, 13, 16, 16, 24, 32, 40, 64, 100, 128]
LANES = [1, 2, 8, 30, 64, 100, 128, 128, 128, 130, 200, 256, 384]
ELEMENTS_MAX = 40000
UNARY = [jnp.abs, jnp.tanh, jnp.square, jnp.negative, jax.nn.sigmoid, lambda x: x * 0.5 + 1,
         lambda x: jnp.exp(-jnp.abs(x)), lambda x: lax.rsqrt(jnp.abs(x) + 1)]
UNARY_WHOLE = [lambda x: x + 1, lambda x: x ^ 5, lambda x: x & 3, jnp.negative, lambda x: x * 3]
BINARY = [jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum]


def is_float(x):
    return jnp.issubdtype(x.dtype, jnp.floating)


class Chain:
    """Values that have been made so far; each operation takes some of them and may add one."""

    def __init__(self, seed, values):
        self.random = random.Random(seed)
        self.values = []
        for v in values:
            self.add(v)

    def add(self, x):
        if 1 <= x.ndim <= 4 and math.prod(x.shape) <= ELEMENTS_MAX:
            self.values.append(jnp.clip(x, -8, 8) if is_float(x) else x)

    def take(self, fits=lambda v: True):
        found = [v for v in self.values if fits(v)]
        if not found:
            raise LookupError
        return found[-1] if self.random.random() < 0.5 else self.random.choice(found)

    def like(self, x):
        return self.take(lambda v: v.dtype == x.dtype and v.shape == x.shape)

    def dim(self, x):
        return self.random.randrange(x.ndim)

    def unary(self):
        x = self.take()
        return self.random.choice(UNARY if is_float(x) else UNARY_WHOLE)(x)

    def binary(self):
        x = self.take()
        y = self.take(lambda v: v.dtype == x.dtype and v.ndim == x.ndim and
                      all(i == j or 1 in (i, j) for i, j in zip(v.shape, x.shape)))
        return self.random.choice(BINARY)(x, y)

    def chosen(self):
        x = self.take()
        d = self.dim(x)
        number = lax.broadcasted_iota(I32, x.shape, d)
        return jnp.where(self.random.choice([number < x.shape[d] // 2, number % 2 == 0]),
                         x, self.like(x))

    def cast(self):
        x = self.take()
        to = self.random.choice([F32, BF16] if is_float(x) or x.dtype != I32 else [F32, BF16, I8])
        return (x & 63 if to == I8 else x).astype(to)

    def reduced(self):
        x = self.take()
        f = self.random.choice([jnp.max, jnp.min, jnp.mean if is_float(x) else jnp.sum])
        keeps = x.ndim == 1 or self.random.random() < 0.6
        return f(x if is_float(x) else x.astype(I32), axis=self.dim(x), keepdims=keeps)

    def reduced_twice(self):
        x = self.take(lambda v: v.ndim >= 2)
        dims = tuple(self.random.sample(range(x.ndim), 2))
        return jnp.max(x if is_float(x) else x.astype(I32), axis=dims, keepdims=True)

    def with_scalar(self):
        x = self.take(lambda v: v.dtype in (F32, I32))
        y = self.take(lambda v: v.dtype == x.dtype)
        return y + (jnp.max(x) if self.random.random() < 0.5 or x.dtype == I32 else jnp.mean(x))

    def transposed(self):
        x = self.take(lambda v: v.ndim >= 2)
        return jnp.transpose(x, self.random.sample(range(x.ndim), x.ndim))

    def reshaped(self):
        x = self.take()
        shape, d = list(x.shape), self.dim(x)
        parts = [p for p in (2, 4, 8, 16, 128) if shape[d] % p == 0]
        kind = self.random.randrange(3)
        if kind == 0:
            shape.insert(self.random.randrange(x.ndim + 1), 1)
        elif kind == 1 and d + 1 < x.ndim:
            shape[d:d + 2] = [shape[d] * shape[d + 1]]
        elif parts:
            p = self.random.choice(parts)
            shape[d:d + 1] = [shape[d] // p, p]
        return x.reshape(shape)

    def part(self):
        x = self.take(lambda v: max(v.shape) > 1)
        d = self.random.choice([i for i, n in enumerate(x.shape) if n > 1])
        first = self.random.randrange(x.shape[d])
        return lax.slice_in_dim(x, first, self.random.randrange(first + 1, x.shape[d] + 1), axis=d)

    def joined(self):
        x = self.take()
        d = self.dim(x)
        y = self.take(lambda v: v.dtype == x.dtype and v.ndim == x.ndim and
                      all(i == d or v.shape[i] == x.shape[i] for i in range(x.ndim)))
        return jnp.concatenate([x, y], d)

    def broadcast(self):
        x = self.take()
        if self.random.random() < 0.4 or 1 not in x.shape:
            return jnp.broadcast_to(x, (self.random.choice([2, 3, 8]), *x.shape))
        shape = list(x.shape)
        shape[shape.index(1)] = self.random.choice([2, 8, 16, 128])
        return jnp.broadcast_to(x, shape)

    def rolled(self):
        x = self.take(lambda v: v.ndim >= 2)
        d = self.dim(x)
        return jnp.roll(x, self.random.randrange(x.shape[d]), d)

    def padded(self):
        x = self.take()
        width = [(0, 0)] * x.ndim
        width[self.dim(x)] = (self.random.randrange(4), self.random.randrange(9))
        return jnp.pad(x, width)

    def product(self):
        x = self.take(lambda v: v.ndim == 2 and is_float(v))
        y = self.take(lambda v: v.ndim == 2 and is_float(v) and set(v.shape) & set(x.shape))
        i, j = self.random.choice([(i, j) for i in (0, 1) for j in (0, 1)
                                   if x.shape[i] == y.shape[j]])
        return lax.dot_general(x.astype(F32), y.astype(F32), (((i,), (j,)), ((), ())),
                               precision="highest") / x.shape[i]

    def looped(self):
        x = self.take(lambda v: v.dtype == F32)
        y = self.take(lambda v: v.dtype == F32 and v.ndim == x.ndim and
                      all(i in (1, j) for i, j in zip(v.shape, x.shape)))
        return lax.fori_loop(0, self.random.randrange(1, 4),
                             lambda i, c: jnp.clip(c * 0.5 + y + i, -8, 8), x)

    def in_memory(self):
        x = self.take(lambda v: v.ndim >= 2 and v.dtype in (F32, I32, BF16))
        count = self.random.randrange(1, x.shape[-2] + 1)
        first = self.random.randrange(x.shape[-2] - count + 1)
        rows = (*[slice(None)] * (x.ndim - 2), pl.ds(first, count), slice(None))

        def inside(ref):
            ref[...] = x
            ref[rows] = ref[rows] * 2
            return ref[...]
        return pl.run_scoped(inside, pltpu.VMEM(x.shape, x.dtype))


OPERATIONS = [f for name, f in vars(Chain).items()
              if not name.startswith("_") and name not in ("add", "take", "like", "dim")]


def results(seed, steps, arrays):
    chain = Chain(seed, arrays)
    for _ in range(steps):
        try:
            chain.add(chain.random.choice(OPERATIONS)(chain))
        except LookupError:             # nothing that fits has been made
            pass
    return chain.values[-3:]


def drawn(seed):
    """A kernel and the shapes of its arguments."""
    draw = random.Random(seed)
    arguments = []
    for _ in range(draw.randrange(1, 4)):
        outer = [draw.choice([2, 3, 4])] if draw.random() < 0.25 else []
        shape = [*outer, draw.choice(ROWS), draw.choice(LANES)]
        arguments.append(like(shape, draw.choice([F32, F32, F32, BF16, I32, I8, I16])))
    steps = draw.randrange(4, 12)

    def function(*arrays):
        shapes = []

        def kernel(*refs):
            values = results(seed, steps, [r[...] for r in refs[:len(arrays)]])
            shapes[:] = [like(v.shape, v.dtype) for v in values]
            for ref, value in zip(refs[len(arrays):], values):
                ref[...] = value
        # once to learn what the results are: their references are left out
        jax.eval_shape(pl.pallas_call(kernel, out_shape=()), *arrays)
        return pl.pallas_call(kernel, out_shape=list(shapes))(*arrays)
    return function, arguments


SEED, COUNT = int(os.environ.get("SEED", "1")), int(os.environ.get("COUNT", "20"))
CASES = [(f"drawn_{seed}", *drawn(seed), 2e-2) for seed in range(SEED, SEED + COUNT)]

"""Chains of products and of what stands between them, drawn by chance: attention, gated layers and
what nobody would write, of several types, in one kernel or in the steps of a loop.

CASES are those of the seeds SEED to SEED + COUNT - 1 of the environment (1, 20), as in drawn.py. Every
value is brought to a magnitude near one, so that bounds are those of bf16 products; an integer made of
one that was rounded otherwise may be one of a hundred apart.
"""
import os
import random

import jax.numpy as jnp
from common import BF16, F32, I8, I32, call, like
from jax import lax

SIZES = [8, 16, 24, 40, 64, 72, 128, 130, 256, 384]
ELEMENTS_MAX = 1 << 17
STEPS = 7
BOUND = 6e-2


def scaled(x):
    """f32, of magnitudes up to one"""
    x = x.astype(F32)
    return x / (1 + jnp.max(jnp.abs(x)))


def product(r, x, y):
    """of two matrices that share a size, along whichever dimensions do; None: they share none"""
    pairs = [(i, j) for i in range(2) for j in range(2) if x.shape[i] == y.shape[j]]
    if not pairs:
        return None
    i, j = r.choice(pairs)
    types = r.choice([(F32, F32), (BF16, BF16), (BF16, F32), (I8, I8)])
    if types[0] == I8:
        x, y = ((scaled(v) * 100).astype(I8) for v in (x, y))
    else:
        x, y = (v.astype(t) for v, t in zip((x, y), types))
    z = lax.dot_general(x, y, (((i,), (j,)), ((), ())),
                        preferred_element_type=I32 if types[0] == I8 else F32)
    return z.astype(F32) / (x.shape[i] ** 0.5 * (1e4 if types[0] == I8 else 1))


def between(r, x, values):
    """a value of one, and of another of its shape where that is drawn"""
    kind = r.choice(["softmax", "gate", "mask", "transpose", "sum", "most", "bf16", "norm", "pair"])
    if kind == "softmax":
        e = jnp.exp(x - jnp.max(x, axis=1, keepdims=True))
        return e / jnp.sum(e, axis=1, keepdims=True)
    if kind == "gate":
        return x / (1 + jnp.exp(-x))
    if kind == "mask":
        rows, lanes = (lax.broadcasted_iota(I32, x.shape, d) for d in range(2))
        return jnp.where(rows + r.choice([0, 3, 60]) >= lanes, x, r.choice([0.0, -1.0]))
    if kind == "transpose":
        return x.T
    if kind == "sum":
        return x - jnp.sum(x, axis=r.choice([0, 1]), keepdims=True) * 0.125
    if kind == "most":
        return x - jnp.max(x, axis=1, keepdims=True)
    if kind == "bf16":
        return x.astype(BF16).astype(F32)
    if kind == "norm":
        return x * lax.rsqrt(jnp.mean(x * x, axis=1, keepdims=True) + 0.1) * 0.5
    others = [v for v in values if v.shape == x.shape]
    return x * 0.5 + r.choice(others) * x


def step(r, values):
    """one value more, of those before"""
    for _ in range(20):
        x = r.choice(values[-3:])
        z = product(r, x, r.choice(values)) if r.random() < 0.5 else between(r, x, values)
        if z is not None and z.size <= ELEMENTS_MAX:
            return z
    return values[-1] * 0.5


def drawn(seed):
    r = random.Random(seed)
    sizes = [r.choice(SIZES) for _ in range(2)]
    shapes = [[r.choice(sizes), r.choice(sizes)] for _ in range(r.choice([2, 3]))]
    types = [r.choice([F32, F32, BF16]) for _ in shapes]
    count, rounds = r.choice([3, 5, STEPS]), r.choice([0, 0, 2])

    def values_of(given):
        s = random.Random(seed + 1)
        values = [scaled(v) for v in given]
        for _ in range(count):
            values.append(step(s, values))
        return values

    def kernel(*refs):
        *inputs, o_ref, p_ref = refs
        given = [ref[...] for ref in inputs]
        if rounds:
            def body(_, first):
                z = values_of([first, *given[1:]])[-1]
                return first * 0.5 + scaled(z) if z.shape == first.shape else first * 0.75
            given[0] = lax.fori_loop(0, rounds, body, given[0].astype(F32))
        values = values_of(given)
        o_ref[...] = values[-1]
        p_ref[...] = values[-2].astype(BF16)
    last = [v.shape for v in values_of([jnp.zeros(s, t) for s, t in zip(shapes, types)])[-2:]]
    out = [like(last[1]), like(last[0], BF16)]
    return lambda *x: call(kernel, out)(*x), [like(s, t) for s, t in zip(shapes, types)]


FIRST, COUNT = (int(os.environ.get(n, d)) for n, d in (("SEED", 1), ("COUNT", 20)))
CASES = [(f"chain_{seed}", *drawn(seed), BOUND) for seed in range(FIRST, FIRST + COUNT)]

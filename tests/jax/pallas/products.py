"""Products of any dimensions, drawn by chance: batches, free dimensions, types and what is contracted.

CASES are those of the seeds SEED to SEED + COUNT - 1 of the environment (1, 20), as in drawn.py, and
some by name. JAX itself lowers some of them not at all, and says so.
"""
import os
import random

import jax.numpy as jnp
from jax import lax

from common import BF16, F32, FP8, I8, I32, call, like

SIZES = [1, 2, 3, 5, 8, 16, 24, 30, 40, 64, 72, 100, 128, 130, 200, 256]
FEW = [1, 2, 3, 4]
ELEMENTS_MAX = 60000


def product(dims, out, exact=False, after=lambda x: x, before=lambda x: x):
    """lax.dot_general of two whole arrays in a kernel"""
    precision = lax.Precision.HIGHEST if exact else None

    def f(x, y):
        def kernel(x_ref, y_ref, o_ref):
            z = lax.dot_general(before(x_ref[...]), y_ref[...], dims, precision=precision,
                                preferred_element_type=out.dtype)
            o_ref[...] = after(z)
        return call(kernel, out)(x, y)
    return f


def placed(r, batch, free, depth, leads):
    """a shape with these dimensions, batches in front where `leads`, and where each came to stand"""
    parts = [("b", i, n) for i, n in enumerate(batch)]
    rest = [("f", i, n) for i, n in enumerate(free)] + [("k", 0, depth)]
    if r.random() < 0.5:
        rest = rest[-1:] + rest[:-1]
    order = parts + rest
    if not leads:
        r.shuffle(order)
    where = {(kind, i): at for at, (kind, i, _) in enumerate(order)}
    return [n for _, _, n in order], where


def drawn(seed):
    r = random.Random(seed)
    while True:
        batch = [r.choice(FEW) for _ in range(r.choice([0, 0, 1]))]
        left = [r.choice(SIZES) for _ in range(r.choice([0, 1, 1, 1, 2]))]
        right = [r.choice(SIZES) for _ in range(r.choice([0, 1, 1, 1, 2]))]
        depth = r.choice(SIZES)
        leads = r.random() < 0.8
        lhs, l_at = placed(r, batch, left, depth, leads)
        rhs, r_at = placed(r, batch, right, depth, leads)
        out = batch + left + right
        sizes = [lhs, rhs, out]
        if 1 <= len(out) <= 4 and all(jnp.prod(jnp.array(s)) <= ELEMENTS_MAX for s in sizes):
            break
    dims = (([l_at["k", 0]], [r_at["k", 0]]), ([l_at["b", i] for i in range(len(batch))],
                                               [r_at["b", i] for i in range(len(batch))]))
    types = r.choice([(F32, F32), (BF16, BF16), (BF16, BF16), (I8, I8), (FP8, FP8), (BF16, F32)])
    return product(dims, like(out, I32 if types[0] == I8 else F32), exact=r.random() < 0.1), \
        [like(lhs, types[0]), like(rhs, types[1])]


def columns_of_product(x, y):
    """a column and a row of one product, each read by all of another"""
    def kernel(x_ref, y_ref, o_ref):
        z = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F32)
        o_ref[...] = z[:, :1] * x_ref[...].astype(F32)
    return call(kernel, like((64, 128)))(x, y)


def row_of_product(x, y):
    def kernel(x_ref, y_ref, o_ref):
        z = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F32)
        o_ref[...] = jnp.broadcast_to(z, (40, 200)) + 1
    return call(kernel, like((40, 200)))(x, y)


FIRST, COUNT = (int(os.environ.get(n, d)) for n, d in (("SEED", 1), ("COUNT", 20)))
BY_NAME = [
    ("row_by_matrix", product((([0], [0]), ([], [])), like((256,))),
     [like((128,), BF16), like((128, 256), BF16)]),
    ("matrix_by_column", product((([1], [0]), ([], [])), like((200,))),
     [like((200, 384)), like((384,))]),
    ("turned_batch", product((([1], [1]), ([0], [0])), like((3, 72, 40))),
     [like((3, 64, 72), BF16), like((3, 64, 40), BF16)]),
    ("rows_of_rows", product((([2], [0]), ([], [])), like((3, 16, 200))),
     [like((3, 16, 128), BF16), like((128, 200), BF16)]),
    ("columns_of_product", columns_of_product, [like((64, 128), BF16), like((128, 128), BF16)]),
    ("rows_of_one", product((([3], [2]), ([0], [0])), like((1, 2, 1, 72))),
     [like((1, 2, 1, 130)), like((1, 72, 130))]),
    ("batch_behind", product((([1], [2]), ([0], [3])), like((1, 5, 5, 256))),
     [like((1, 3, 5), BF16), like((5, 256, 3, 1))]),
    ("exact_by_bf16", product((([1], [0]), ([], [])), like((40, 200)), exact=True),
     [like((40, 130), BF16), like((130, 200))]),
    ("int8_deep", product((([1], [1]), ([], [])), like((1024, 256), I32)),
     [like((1024, 2048), I8), like((256, 2048), I8)]),
    ("int8_parts", product((([1], [1]), ([], [])), like((32, 128), I32)),
     [like((32, 1280), I8), like((128, 1280), I8)]),
    ("int8_odd", product((([1], [0]), ([], [])), like((200, 384), I32)),
     [like((200, 1280), I8), like((1280, 384), I8)]),
    ("row_of_product", row_of_product, [like((1, 128), BF16), like((128, 200), BF16)]),
]
CASES = BY_NAME + [(f"product_{seed}", *drawn(seed)) for seed in range(FIRST, FIRST + COUNT)]

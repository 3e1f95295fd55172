"""Single operations of types and shapes that none of the other kernels has, and drawn chains of them.

CASES lists (name, function, shapes of arguments, bound) as library.py does; a bound of None is of
operations that interpret mode lacks: host and cores are held against each other.
"""
import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from common import BF16, F32, FP8, I4, I8, I16, I32, call, like

U8, U16, U32 = jnp.uint8, jnp.uint16, jnp.uint32


def values(function):
    """A kernel that makes the function's results of all of its arguments."""
    @functools.wraps(function)
    def made(*arrays):
        results = jax.eval_shape(function, *arrays)

        def kernel(*refs):
            for ref, value in zip(refs[len(arrays):], function(*[r[...] for r in refs[:len(arrays)]])):
                ref[...] = value
        return pl.pallas_call(kernel, out_shape=[like(r.shape, r.dtype) for r in results])(*arrays)
    return made


@values
def counts_of_bits(a, b, c, d):
    """Of 8 and 16 bits, which are wider in registers."""
    return [f(x * 29) for x in (a, b, c, d) for f in (lax.population_count, lax.clz)]


@values
def rows_as_others(a, b, c, d):
    """Rows of narrow integers share words."""
    return [pltpu.bitcast(a * 77, I32), pltpu.bitcast(b * 77777, I16), pltpu.bitcast(c * 7, I16),
            pltpu.bitcast(a * 77, I8), pltpu.bitcast(d, I32), pltpu.bitcast(b * 77777, I4)]


@values
def bits_of_halves(x, y):
    """bf16 as 16 bits and back, its sign."""
    bits = lax.bitcast_convert_type(x, I16)
    return [jnp.sign(x), bits, lax.bitcast_convert_type(y + 16256, BF16),
            lax.bitcast_convert_type(x, U16) >> 3]


@values
def extremes_of_halves(x, y):
    """bf16 along rows and outer dimensions, which have no registers of their own."""
    return [jnp.max(x, 0), jnp.min(x, 0, keepdims=True), jnp.max(y, 0), jnp.min(y, 1),
            jnp.max(y, (0, 1))]


@values
def columns_to_scalars(x):
    """A column stands in all lanes: each of its rows counts once."""
    column = jnp.sum(x, 1, keepdims=True)
    row = lax.broadcasted_iota(I32, column.shape, 0)
    sums = [jnp.sum(column), jnp.sum(jnp.where(row == 3, column, 0)), jnp.sum(x[:, :1]),
            jnp.sum(column * x[:, :1]), jnp.sum(x[:13, :1]), jnp.max(column * 2)]
    return [jnp.full((8, 128), s) for s in sums]


@values
def crowded_loop(x):
    """More scalars than a loop has registers; some of them are read in every iteration."""
    bounded = functools.partial(jnp.clip, min=-8, max=8)
    k = bounded(bounded(bounded(x) ** 2).reshape(3, 24, 192))
    first = lax.broadcasted_iota(I32, k.shape, 0) < 1
    q = bounded(jnp.where(first, bounded(k * k), k))
    return [bounded(lax.fori_loop(0, 1, lambda i, c: bounded(c * 0.5 + q + i), q))]


@values
def mixed_products(x, y, z, w):
    """A float operand beside an integer one."""
    dot = functools.partial(jnp.dot, preferred_element_type=F32)
    return [dot(x, z), dot(z.T, x.T), dot(x, w), dot(y, z, precision="highest")]


def parts_of_rows(*arrays):
    """More than two row tiles, the last one not full, into the middle of memory."""
    def kernel(*refs):
        for from_ref, to_ref in zip(refs[:len(arrays)], refs[len(arrays):]):
            to_ref[...] = from_ref[...]
        a_ref, b_ref, c_ref, d_ref = refs[len(arrays):]
        a_ref[3:20, :] = a_ref[3:20, :] * 2
        b_ref[16:49, :] = b_ref[16:49, :] * 2
        c_ref[32:102, :] = jnp.full((70, 128), 5, I8)
        d_ref[1:, 5:30, :] = d_ref[:2, 5:30, :] * 2
    return pl.pallas_call(kernel, out_shape=[like(a.shape, a.dtype) for a in arrays])(*arrays)


@values
def shallow_products(a, b, c, d):
    """8-bit products whose last word has three of its four rows, or two."""
    dot = functools.partial(jnp.dot, preferred_element_type=I32)
    return [dot(a[:, :3], b[:3]), dot(a, b), dot(a[:, :6], b[:6]), dot(a[:8, :5], b[:5]),
            jnp.dot(c, d, preferred_element_type=F32)]


def twice(x):
    """One array as two operands, in blocks of their own."""
    def kernel(a_ref, b_ref, o_ref):
        o_ref[...] = a_ref[...] * b_ref[0:1, :]
    return pl.pallas_call(
        kernel, grid=(4, 2), out_shape=like(x.shape),
        in_specs=[pl.BlockSpec((16, 128), lambda i, j: (i, j)),
                  pl.BlockSpec((16, 128), lambda i, j: (3 - i, j))],
        out_specs=pl.BlockSpec((16, 128), lambda i, j: (i, j)))(x, x)


def threshold(x):
    """Two columns that a loop carries, each made of the other: one pass over the rows makes both."""
    def kernel(x_ref, o_ref):
        p = jnp.abs(x_ref[...])

        def halve(_, bounds):
            low, high = bounds
            middle = (low + high) / 2
            kept = jnp.sum(jnp.where(p >= middle, p, 0), -1, keepdims=True)
            return jnp.where(kept >= 100, middle, low), jnp.where(kept >= 100, high, middle)
        low, _ = lax.fori_loop(0, 12, halve, (jnp.zeros((64, 1)), jnp.max(p, -1, keepdims=True)))
        o_ref[...] = jnp.where(p >= low, p, 0)
    return pl.pallas_call(kernel, out_shape=like(x.shape))(x)


def running_columns(x):
    """Scratch of one lane: what stands there stands in all lanes."""
    def kernel(x_ref, o_ref, most_ref, sum_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            most_ref[...] = jnp.full_like(most_ref, -jnp.inf)
            sum_ref[...] = jnp.zeros_like(sum_ref)
        most = jnp.maximum(most_ref[...], jnp.max(x_ref[...], 1, keepdims=True))
        old = sum_ref[...] * jnp.exp(most_ref[...] - most)
        sum_ref[...] = old + jnp.sum(jnp.exp(x_ref[...] - most), 1, keepdims=True)
        most_ref[...] = most
        most_ref[9:30, :] = most_ref[9:30, :] + 1
        o_ref[...] = most_ref[...] + sum_ref[...]
    return pl.pallas_call(
        kernel, grid=(x.shape[1] // 128,), out_shape=like((x.shape[0], 1)),
        in_specs=[pl.BlockSpec((x.shape[0], 128), lambda i: (0, i))],
        out_specs=pl.BlockSpec((x.shape[0], 1), lambda i: (0, 0)),
        scratch_shapes=[pltpu.VMEM((x.shape[0], 1), F32)] * 2)(x)


@values
def columns_stored(x):
    """A column is stored as a row while what was made of it waits beside other columns."""
    most = jnp.max(x, 2)
    first = most.astype(BF16)
    rest = most - first.astype(F32)
    second = rest.astype(BF16)
    return [first, second, (rest - second.astype(F32)).astype(BF16),
            lax.dot_general(most, most, (((0,), (0,)), ((), ())), precision="highest")]


def numbered_rows(x):
    """A loop over rows that compares their numbers, which go on beside its addresses."""
    def kernel(x_ref, o_ref, most_ref):
        row = 32 + lax.broadcasted_iota(I32, x.shape, 0)
        column = lax.broadcasted_iota(I32, x.shape, 1)
        scores = jnp.where(row >= column, x_ref[...], -1e30)
        most = jnp.max(scores, 1, keepdims=True)
        p = jnp.exp(scores - most)
        o_ref[...] = p / jnp.sum(p, 1, keepdims=True)
        most_ref[...] = jnp.broadcast_to(most, most_ref.shape)
    return call(kernel, [like(x.shape), like(x.shape)])(x)


@values
def packs(x, y, bits):
    """Several elements in a word, and f32 rounded by chance."""
    halves = pltpu.pack_elementwise([x, x * 3], packed_dtype=BF16)
    whole = [y, y * 3, y - 5, y * 7]
    eighths = pltpu.pack_elementwise(whole, packed_dtype=I8)
    return [halves, eighths,
            pltpu.unpack_elementwise(halves, index=1, packed_dtype=BF16, unpacked_dtype=F32),
            pltpu.unpack_elementwise(eighths, index=2, packed_dtype=I8, unpacked_dtype=I32),
            pltpu.stochastic_round(x, bits * 8191, target_dtype=BF16),
            pltpu.stochastic_round(x * 1e30 * 1e10, bits, target_dtype=BF16)]


def moments(x):
    """The same sums as often as they are named, with a store between two loads of one place."""
    def kernel(x_ref, o_ref, s_ref):
        s_ref[...] = x_ref[...]
        before = s_ref[...] - jnp.mean(s_ref[...], -1, keepdims=True)
        spread = jnp.mean((s_ref[...] - jnp.mean(s_ref[...], -1, keepdims=True)) ** 2, -1, keepdims=True)
        s_ref[...] = x_ref[...] * 2
        after = s_ref[...] - jnp.mean(s_ref[...], -1, keepdims=True)
        o_ref[...] = before * lax.rsqrt(spread + 1e-5) + after
    return pl.pallas_call(kernel, out_shape=like(x.shape), scratch_shapes=[pltpu.VMEM(x.shape, F32)])(x)


def named_twice(x):
    """A sum along lanes that is written twice, and a reference that is loaded four times."""
    def kernel(x_ref, o_ref):
        scaled = jnp.mean(x_ref[...], -1, keepdims=True) * jnp.max(x_ref[...], -1, keepdims=True)
        o_ref[...] = x_ref[...] - scaled + jnp.mean(x_ref[...], -1, keepdims=True)
    return pl.pallas_call(kernel, out_shape=like(x.shape))(x)


def int8_sums(x, y):
    """Integers summed up over steps in scratch memory, of which each step is another branch."""
    def kernel(x_ref, y_ref, o_ref, acc):
        def one(is_first, is_last):
            total = jnp.dot(x_ref[...], y_ref[...].T, preferred_element_type=I32)
            if not is_first:
                total = acc[...] + total
            if is_last:
                o_ref[...] = total.astype(F32) * 0.5
            else:
                acc[...] = total
        step = pl.program_id(1)
        pl.when(step == 0)(lambda: one(True, False))
        pl.when((step > 0) & (step < 3))(lambda: one(False, False))
        pl.when(step == 3)(lambda: one(False, True))
    return pl.pallas_call(
        kernel, grid=(2, 4), out_shape=like((x.shape[0], y.shape[0])),
        in_specs=[pl.BlockSpec((32, 256), lambda j, i: (0, i)),
                  pl.BlockSpec((1536, 256), lambda j, i: (j, i))],
        out_specs=pl.BlockSpec((32, 1536), lambda j, i: (0, j)),
        scratch_shapes=[pltpu.VMEM((32, 1536), I32)])(x, y)


def masked_rows(lengths, q, k, v):
    """Attention of as many keys as a table says, masked before and behind the exponentials."""
    def kernel(lengths_ref, q_ref, k_ref, v_ref, o_ref):
        row = lax.broadcasted_iota(I32, (160, 512), 0) // 5
        key = lax.broadcasted_iota(I32, (160, 512), 1)
        seen = (row >= 1) & (row < 31) & (key <= lengths_ref[pl.program_id(0)] + row)
        s = jnp.where(seen, jnp.dot(q_ref[...], k_ref[...].T, preferred_element_type=F32) * 0.1, -1e30)
        p = jnp.where(seen, jnp.exp(s - jnp.max(s, -1, keepdims=True)), 0)
        o_ref[...] = (jnp.dot(p.astype(BF16), v_ref[...], preferred_element_type=F32) /
                      jnp.maximum(jnp.sum(p, -1, keepdims=True), 1e-30))
    rows, keys = pl.BlockSpec((160, 128), lambda i, t: (i, 0)), pl.BlockSpec((512, 128), lambda i, t: (0, 0))
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2,), in_specs=[rows, keys, keys],
                                        out_specs=rows)
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=like(q.shape))(lengths, q, k, v)


@values
def quotients(x, y):
    """Quotients and remainders by known numbers, of both signs, rounded towards zero and downwards."""
    x = (x - 4) * 123456789
    return [x // 7, x % 7, lax.div(x, 5), lax.rem(x, 5), x % -3, lax.rem(x, -3), y // 6, y % 6,
            (y.astype(jnp.uint32) * 987654321 % 10).astype(I32)]


def rows_doubled(x):
    """Some rows of each matrix of a column in scratch memory, the last of them within a tile."""
    def kernel(x_ref, o_ref, s):
        s[...] = jnp.min(x_ref[...], -1, keepdims=True)
        s[:, :30, :] = s[:, :30, :] * 2
        o_ref[...] = s[...]
    return pl.pallas_call(kernel, out_shape=like((3, 32, 1)),
                          scratch_shapes=[pltpu.VMEM((3, 32, 1), F32)])(x)


def rounds_of_table(rounds, x):
    """A loop of as many rounds as a table says."""
    def kernel(rounds_ref, x_ref, o_ref):
        o_ref[...] = lax.fori_loop(0, rounds_ref[pl.program_id(0)], lambda i, y: y * 0.5 + i.astype(F32),
                                   x_ref[...])
    block = pl.BlockSpec((16, 128), lambda i, rounds: (i, 0))
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(40,), in_specs=[block],
                                        out_specs=block)
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=like(x.shape))(rounds, x)


CASES = [
    ("counts_of_bits", counts_of_bits,
     [like((32, 128), d) for d in (I8, U8, I16, U16)], 0.0),
    ("rows_as_others", rows_as_others,
     [like((64, 128), I16), like((16, 128), I32), like((64, 128), I8), like((64, 128), I4)], 0.0),
    ("bits_of_halves", bits_of_halves, [like((16, 128), BF16), like((16, 128), I16)], 0.0),
    ("extremes_of_halves", extremes_of_halves, [like((13, 200), BF16), like((3, 5, 130), BF16)], 0.0),
    ("columns_to_scalars", columns_to_scalars, [like((64, 64))], 1e-5),
    ("crowded_loop", crowded_loop, [like((3, 12, 384))], 1e-6),
    ("mixed_products", mixed_products,
     [like((64, 128), BF16), like((64, 128)), like((128, 64), I8), like((128, 64), I4)], 1e-2),
    ("parts_of_rows", parts_of_rows,
     [like((75, 1)), like((64, 128), BF16), like((128, 128), I8), like((3, 40, 130))], 0.0),
    ("shallow_products", shallow_products,
     [like((32, 31), I8), like((31, 128), I8), like((32, 7), FP8), like((7, 128), FP8)], 1e-6),
    ("twice", twice, [like((64, 256))], 1e-6),
    ("threshold", threshold, [like((64, 512))], 1e-5),
    ("running_columns", running_columns, [like((40, 256))], 1e-5),
    ("columns_stored", columns_stored, [like((3, 2, 133))], 1e-5),
    ("numbered_rows", numbered_rows, [like((256, 128))], 1e-5),
    ("packs", packs, [like((16, 256)), like((16, 256), I32), like((16, 256), U32)], None),
    ("moments", moments, [like((24, 256))], 1e-5),
    ("rows_doubled", rows_doubled, [like((3, 32, 128))], 0.0),
    ("quotients", quotients, [like((13, 130), I32), like((16, 128), I32)], 0.0),
    ("named_twice", named_twice, [like((64, 256))], 1e-5),
    # held against the host alone
    ("int8_sums", int8_sums, [like((32, 1024), I8), like((3072, 1024), I8)], None),
    ("masked_rows", masked_rows,
     [like((2,), I32), like((320, 128), BF16), like((512, 128), BF16), like((512, 128), BF16)], None),
    ("rounds_of_table", rounds_of_table, [like((40,), I32), like((640, 128))], None),
]

"""Kernels as people write them who think in arrays: shapes, slices and indices that no tile is made for.

CASES lists (name, function, shapes of arguments, bound) as library.py does.
"""
import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F32, BF16, I32, I8 = jnp.float32, jnp.bfloat16, jnp.int32, jnp.int8
SMEM = pl.BlockSpec(memory_space=pltpu.SMEM)
VMEM = pl.BlockSpec(memory_space=pltpu.VMEM)


def like(shape, dtype=F32):
    return jax.ShapeDtypeStruct(shape, dtype)


def call(kernel, out, **settings):
    return pl.pallas_call(kernel, out_shape=out, **settings)


def rmsnorm(x_ref, w_ref, o_ref):
    """Scales of one dimension."""
    x = x_ref[...].astype(F32)
    root = jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    o_ref[...] = (x * root * w_ref[...]).astype(o_ref.dtype)


def bias_1d(x_ref, b_ref, o_ref):
    """Narrow elements of one dimension, read and written."""
    o_ref[...] = x_ref[...] + b_ref[...]


def top(x_ref, value_ref, index_ref):
    """The largest of each row, one by one, into columns of the result."""
    x = x_ref[...]
    lane = jax.lax.broadcasted_iota(I32, x.shape, 1)
    for k in range(3):
        at = jnp.argmax(x, axis=1, keepdims=True).astype(I32)
        value_ref[:, k:k + 1] = jnp.max(x, axis=1, keepdims=True)
        index_ref[:, k:k + 1] = at
        x = jnp.where(lane == at, -jnp.inf, x)


def histogram(x_ref, o_ref):
    bins = jax.lax.broadcasted_iota(I32, (8, x_ref.shape[1]), 0)

    def body(i, counts):
        row = x_ref[pl.ds(i, 1), :]
        return counts + jnp.sum((row == bins).astype(I32), axis=1, keepdims=True)
    o_ref[...] = jax.lax.fori_loop(0, x_ref.shape[0], body, jnp.zeros((8, 1), I32))


def convolution(x_ref, w_ref, o_ref):
    """Three taps along rows."""
    x = x_ref[...]
    o_ref[...] = w_ref[0] * x[0:38] + w_ref[1] * x[1:39] + w_ref[2] * x[2:40]


def running_sum(x_ref, o_ref):
    def body(i, total):
        total = total + x_ref[pl.ds(i, 1), :]
        o_ref[pl.ds(i, 1), :] = total
        return total
    jax.lax.fori_loop(0, x_ref.shape[0], body, jnp.zeros((1, x_ref.shape[1]), F32))


def scan_lanes(x_ref, o_ref):
    x = x_ref[...]
    lane = jax.lax.broadcasted_iota(I32, x.shape, 1)
    by = 1
    while by < x.shape[1]:
        x = x + jnp.where(lane >= by, pltpu.roll(x, by, 1), 0.0)
        by *= 2
    o_ref[...] = x


def sort(x_ref, o_ref):
    """Bitonic, each row by itself."""
    x, n = x_ref[...], x_ref.shape[1]
    lane = jax.lax.broadcasted_iota(I32, x.shape, 1)
    size = 2
    while size <= n:
        by = size // 2
        while by:
            is_low = (lane & by) == 0
            other = jnp.where(is_low, pltpu.roll(x, n - by, 1), pltpu.roll(x, by, 1))
            x = jnp.where(((lane & size) == 0) == is_low, jnp.minimum(x, other),
                          jnp.maximum(x, other))
            by //= 2
        size *= 2
    o_ref[...] = x


def rotary(x_ref, cos_ref, sin_ref, o_ref):
    """Halves of a head that is one tile wide change places."""
    x = x_ref[...]
    half = x.shape[1] // 2
    turned = jnp.concatenate([-x[:, half:], x[:, :half]], axis=-1)
    o_ref[...] = x * cos_ref[...] + turned * sin_ref[...]


def strides(x_ref, o_ref):
    o_ref[pl.ds(0, 8, stride=2), :] = x_ref[pl.ds(1, 8, stride=3), :]
    o_ref[pl.ds(1, 8, stride=2), :] = x_ref[pl.ds(0, 8), :]


def parts(x_ref, o_ref):
    """From rows and lanes on where no tile begins, and to them."""
    o_ref[...] = jnp.zeros_like(o_ref)
    o_ref[5:21, 3:131] = x_ref[3:19, 60:188]


def parts_at(start_ref, x_ref, o_ref):
    o_ref[...] = jnp.zeros_like(o_ref)
    o_ref[pl.ds(start_ref[1], 11), :] = x_ref[pl.ds(start_ref[0], 11), :]


def shapes(x_ref, o_ref):
    o_ref[...] = x_ref[...].reshape(8, 3, 4, 64).reshape(48, 128).reshape(16, 384) * 2.0


def heads(x_ref, o_ref, most_ref):
    """Dimensions between rows and lanes that the block leaves out."""
    x = x_ref[...]
    most = jnp.broadcast_to(x.max(axis=-1, keepdims=True), x.shape)
    most_ref[...] = most
    o_ref[...] = jnp.exp(x - most) + most_ref[...]


def rotated(by_ref, x_ref, o_ref):
    o_ref[...] = pltpu.roll(x_ref[...], by_ref[0], 1) + pltpu.roll(x_ref[...], by_ref[1], 0)


def gathers(x_ref, which_ref, o_ref):
    o_ref[...] = (jnp.take_along_axis(x_ref[...], which_ref[...], axis=0) +
                  jnp.take_along_axis(x_ref[...], which_ref[...], axis=1))


def online(x_ref, o_ref):
    """A logarithm of sums of exponentials, its state of one dimension."""
    def body(i, state):
        most, total = state
        x = x_ref[i]
        now = jnp.maximum(most, x.max(axis=-1))
        total = total * jnp.exp(most - now) + jnp.exp(x - now[:, None]).sum(axis=-1)
        return now, total
    most, total = jax.lax.fori_loop(
        0, x_ref.shape[0], body, (jnp.full((24,), -jnp.inf, F32), jnp.zeros((24,), F32)))
    o_ref[...] = most + jnp.log(total)


def exact(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], y_ref[...], precision=jax.lax.Precision.HIGHEST)


def sums(x_ref, all_ref, outer_ref, rows_ref, inner_ref):
    """Over one dimension and over several."""
    x = x_ref[...]
    all_ref[...] = jnp.sum(x, axis=(0, 1, 2), keepdims=True)
    outer_ref[...] = jnp.max(x, axis=0, keepdims=True)
    rows_ref[...] = jnp.argmax(x[0], axis=0, keepdims=True).astype(I32)
    inner_ref[...] = jnp.sum(x, axis=(1, 2), keepdims=True)


def bits(x_ref, o_ref):
    """Halves of words, and how many of their bits are set."""
    words = pltpu.bitcast(x_ref[...], I32)
    o_ref[...] = jax.lax.population_count(words) + jax.lax.clz(words)


def swapped(x_ref, o_ref):
    """Two states that change places in a loop."""
    first, second = jax.lax.fori_loop(0, 5, lambda i, c: (c[1], c[0] + c[1]),
                                      (x_ref[0:8], x_ref[8:16]))
    o_ref[0:8] = first
    o_ref[8:16] = second


def overlapping(x_ref, o_ref):
    """Windows by elements."""
    o_ref[...] = x_ref[0:8] + x_ref[8:16]


def table(which_ref, x_ref, o_ref):
    """A table of narrow integers in two dimensions, of which a row is as long as no granule."""
    o_ref[...] = x_ref[...] * which_ref[pl.program_id(0), pl.program_id(1)].astype(F32)


def with_table(which, x):
    block = pl.BlockSpec((8, 128), lambda i, j, which: (i, which[i, j].astype(I32)))
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=which.shape, in_specs=[block],
        out_specs=pl.BlockSpec((8, 128), lambda i, j, which: (i, j)))
    return call(table, like((which.shape[0] * 8, which.shape[1] * 128)), grid_spec=spec)(which, x)


def with_heads(x):
    block = pl.BlockSpec((None, 4, None, 128), lambda i: (i, 0, 0, 0))
    return call(heads, [like(x.shape)] * 2, grid=(2,), in_specs=[block],
                out_specs=[block] * 2)(x)


def with_overlap(x):
    return call(overlapping, like((48, 128)), grid=(6,),
                in_specs=[pl.BlockSpec((pl.Element(16), pl.Element(128)), lambda i: (i * 8, 0))],
                out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)))(x)


def of(kernel, out, **settings):
    return lambda *x: call(kernel, out, **settings)(*x)


CASES = [
    ("rmsnorm", of(rmsnorm, like((24, 384), BF16)), [like((24, 384), BF16), like((384,))], 2e-2),
    ("bias_1d", of(bias_1d, like((640,), BF16)), [like((640,), BF16)] * 2, 1e-2),
    ("top", of(top, (like((16, 3)), like((16, 3), I32))), [like((16, 200))], 0.0),
    ("histogram", of(histogram, like((8, 1), I32)), [like((12, 256), I32)], 0.0),
    ("convolution", of(convolution, like((38, 256)), in_specs=[VMEM, SMEM]),
     [like((40, 256)), like((3,))], 1e-6),
    ("running_sum", of(running_sum, like((20, 256))), [like((20, 256))], 1e-5),
    ("scan_lanes", of(scan_lanes, like((8, 256))), [like((8, 256))], 1e-5),
    ("sort", of(sort, like((8, 128))), [like((8, 128))], 0.0),
    ("rotary", of(rotary, like((16, 128))), [like((16, 128))] * 3, 1e-6),
    ("strides", of(strides, like((16, 256))), [like((32, 256))], 0.0),
    ("parts", of(parts, like((24, 256))), [like((24, 256))], 0.0),
    ("parts_bf16", of(parts, like((24, 256), BF16)), [like((24, 256), BF16)], 0.0),
    ("parts_at", of(parts_at, like((32, 256)), in_specs=[SMEM, VMEM]),
     [like((2,), I32), like((40, 256))], 0.0),
    ("parts_at_bf16", of(parts_at, like((32, 128), BF16), in_specs=[SMEM, VMEM]),
     [like((2,), I32), like((40, 128), BF16)], 0.0),
    ("shapes", of(shapes, like((16, 384))), [like((48, 128))], 0.0),
    ("heads", with_heads, [like((2, 4, 1, 128))], 1e-5),
    ("rotated", of(rotated, like((16, 256)), in_specs=[SMEM, VMEM]),
     [like((2,), I32), like((16, 256))], 0.0),
    ("gathers", of(gathers, like((8, 128))), [like((8, 128)), like((8, 128), I32)], 0.0),
    ("online", of(online, like((24,))), [like((3, 24, 200))], 1e-5),
    ("exact", of(exact, like((24, 128))), [like((24, 200)), like((200, 128))], 1e-6),
    ("sums", of(sums, (like((1, 1, 1)), like((1, 20, 128)), like((1, 128), I32),
                       like((3, 1, 1)))), [like((3, 20, 128))], 1e-5),
    ("bits", of(bits, like((8, 128), I32)), [like((16, 128), BF16)], 0.0),
    ("swapped", of(swapped, like((16, 128))), [like((16, 128))], 1e-6),
    ("with_overlap", with_overlap, [like((64, 128))], 0.0),
    ("with_table", with_table, [like((3, 5), I8), like((24, 1024))], 0.0),
]

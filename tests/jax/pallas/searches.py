"""Kernels that count, sort and search, transform and convolve, choose by numbers and work on bits.

CASES lists (name, function, shapes of arguments, bound) as library.py does.
"""

import jax
import jax.numpy as jnp
import numpy as np
from common import BF16, F32, I8, I32, SMEM, VMEM, call, like
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ARBITRARY = pltpu.CompilerParams(dimension_semantics=("arbitrary",))


def dot(a, b, dims=((1,), (0,))):
    return lax.dot_general(a, b, (dims, ((), ())), preferred_element_type=F32)


# counting, sorting, searching

def histogram(x):
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)
        bins = lax.broadcasted_iota(I32, (8, 128, 16), 2)
        hits = (x_ref[...][:, :, None] == bins).astype(I32)
        o_ref[...] += jnp.sum(hits, axis=(0, 1))[None, :]
    return call(kernel, like((1, 16), I32), grid=(x.shape[0] // 8,),
                in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                out_specs=pl.BlockSpec((1, 16), lambda i: (0, 0)), compiler_params=ARBITRARY)(x)


def counts_in_smem(x):
    def kernel(x_ref, o_ref):
        for i in range(8):
            o_ref[i] = 0

        def body(i, _):
            at = x_ref[i]
            o_ref[at] = o_ref[at] + 1
            return ()
        lax.fori_loop(0, x.shape[0], body, ())
    return call(kernel, like((8,), I32), in_specs=[SMEM], out_specs=SMEM)(x)


def kth_largest(x):
    """The 10th largest of a row, by halving an interval of the numbers' bits."""
    def kernel(x_ref, o_ref):
        bits = pltpu.bitcast(jnp.abs(x_ref[...]), I32)

        def body(i, low):
            tried = low | lax.shift_left(1, 30 - i)
            count = jnp.sum((bits >= tried).astype(I32), axis=1, keepdims=True)
            return jnp.where(count >= 10, tried, low)
        found = lax.fori_loop(0, 31, body, jnp.zeros((x.shape[0], 1), I32))
        kept = bits >= found
        o_ref[...] = jnp.where(kept, x_ref[...], 0.0)
    return call(kernel, like(x.shape))(x)


def taken_lanes(x, lanes):
    """indices that JAX gives a third dimension and takes it away again"""
    def kernel(x_ref, lanes_ref, o_ref):
        o_ref[...] = jnp.take_along_axis(x_ref[...], lanes_ref[...], axis=1)
    return call(kernel, like((16, 128)))(x, lanes)


def turned_dimensions(x):
    """rows to lanes and lanes in front of both"""
    def kernel(x_ref, o_ref, p_ref):
        o_ref[...] = jnp.transpose(x_ref[...], (2, 0, 1))
        p_ref[...] = jnp.transpose(x_ref[...], (1, 2, 0))
    return call(kernel, [like((100, 3, 40), BF16), like((40, 100, 3), BF16)])(x)


def rows_of_segments(ids, x):
    """Sums of rows with the same number, as a product with a matrix of ones made in the kernel."""
    def kernel(ids_ref, x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)
        segment = lax.broadcasted_iota(I32, (16, 32), 0)
        ones = (segment == ids_ref[...]).astype(F32)
        o_ref[...] += jnp.dot(ones, x_ref[...], precision=lax.Precision.HIGHEST,
                              preferred_element_type=F32)
    return call(kernel, like((16, x.shape[1])), grid=(x.shape[0] // 32,),
                in_specs=[pl.BlockSpec((None, 1, 32), lambda i: (i, 0, 0)),
                          pl.BlockSpec((32, x.shape[1]), lambda i: (i, 0))],
                out_specs=pl.BlockSpec((16, x.shape[1]), lambda i: (0, 0)),
                compiler_params=ARBITRARY)(ids, x)


def labels_of(x, y):
    """log-softmax at a label, and its gradient."""
    def kernel(x_ref, y_ref, l_ref, g_ref):
        x = x_ref[...].astype(F32)
        lane = lax.broadcasted_iota(I32, x.shape, 1)
        top = jnp.max(x, axis=-1, keepdims=True)
        e = jnp.exp(x - top)
        total = jnp.sum(e, axis=-1, keepdims=True)
        hit = lane == y_ref[...]
        l_ref[...] = top + jnp.log(total) - jnp.sum(jnp.where(hit, x, 0.0), axis=-1, keepdims=True)
        g_ref[...] = (e / total - hit.astype(F32)).astype(g_ref.dtype)
    rows, words = x.shape
    return call(kernel, [like((rows, 1)), like(x.shape, x.dtype)], grid=(rows // 16,),
                in_specs=[pl.BlockSpec((16, words), lambda i: (i, 0)),
                          pl.BlockSpec((16, 1), lambda i: (i, 0))],
                out_specs=[pl.BlockSpec((16, 1), lambda i: (i, 0)),
                           pl.BlockSpec((16, words), lambda i: (i, 0))])(x, y)


# transforms, convolutions

def fourier(x, cos, sin):
    """A transform of 256 points as 16 x 16: twiddles between two products."""
    def kernel(x_ref, c_ref, s_ref, re_ref, im_ref):
        x = x_ref[...].reshape(16, 16)
        c, s = c_ref[...], s_ref[...]
        re, im = dot(c[:, :16], x), -dot(s[:, :16], x)
        row = lax.broadcasted_iota(I32, (16, 16), 0)
        column = lax.broadcasted_iota(I32, (16, 16), 1)
        angle = (row * column).astype(F32) * (2 * np.pi / 256)
        tc, ts = jnp.cos(angle), jnp.sin(angle)
        re, im = re * tc + im * ts, im * tc - re * ts
        re_ref[...] = dot(re, c[:, :16]) + dot(im, s[:, :16])
        im_ref[...] = dot(im, c[:, :16]) - dot(re, s[:, :16])
    return call(kernel, [like((16, 16))] * 2)(x, cos, sin)


def convolution(x, w):
    """3 x 3 over a padded image, a product for each tap."""
    height, width = x.shape[1] - 2, 16

    def kernel(x_ref, w_ref, o_ref):
        acc = jnp.zeros((height * width, w.shape[3]), F32)
        for i in range(3):
            for j in range(3):
                part = x_ref[0, i:i + height, j:j + width, :].reshape(height * width, x.shape[3])
                acc += dot(part, w_ref[i, j])
        o_ref[0] = acc.reshape(height, width, w.shape[3])
    return call(kernel, like((x.shape[0], height, width, w.shape[3])), grid=(x.shape[0],),
                in_specs=[pl.BlockSpec((1, *x.shape[1:]), lambda b: (b, 0, 0, 0)),
                          pl.BlockSpec(w.shape, lambda b: (0, 0, 0, 0))],
                out_specs=pl.BlockSpec((1, height, width, w.shape[3]),
                                       lambda b: (b, 0, 0, 0)))(x, w)


def pooled(x):
    def kernel(x_ref, o_ref):
        x = x_ref[...]
        o_ref[...] = jnp.max(x.reshape(8, 2, 8, 2, 128), axis=(1, 3))
    return call(kernel, like((8, 8, 128)))(x)


# control, bits, functions

def switched(which, x):
    def kernel(which_ref, x_ref, o_ref):
        i = pl.program_id(0)
        o_ref[...] = lax.switch(which_ref[i], [jnp.exp, jnp.sin, lambda v: v * v, jnp.abs],
                                x_ref[...])
    block = pl.BlockSpec((8, 128), lambda i, w: (i, 0))
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(4,), in_specs=[block],
                                        out_specs=block)
    return call(kernel, like(x.shape), grid_spec=spec)(which, x)


def scanned(x):
    def kernel(x_ref, o_ref):
        def body(carry, _):
            i, best = carry
            best = jnp.maximum(best * 0.9, x_ref[pl.ds(i, 1), :])
            o_ref[pl.ds(i, 1), :] = best
            return (i + 1, best), None
        lax.scan(body, (jnp.int32(0), jnp.zeros((1, 128), F32)), None, length=16)
    return call(kernel, like(x.shape))(x)


def functions(x):
    def kernel(x_ref, o_ref, i_ref):
        x = x_ref[...]
        o_ref[...] = (lax.erf(x) + jnp.log1p(jnp.abs(x)) + jnp.floor(x) + jnp.sign(x) * jnp.ceil(x)
                      + jnp.tan(x / 2) + jnp.exp2(x) + jnp.power(jnp.abs(x) + 1, 1.7)
                      + jax.nn.gelu(x) + jax.nn.log_sigmoid(x) + jnp.square(x) ** 2)
        i_ref[...] = jnp.round(x * 100).astype(I32)
    return call(kernel, [like(x.shape), like(x.shape, I32)])(x)


def integers(x, y):
    def kernel(x_ref, y_ref, o_ref):
        x, y = x_ref[...], y_ref[...] + 1
        o_ref[0] = x // y
        o_ref[1] = x % y
        o_ref[2] = lax.population_count(x * 77777) + lax.clz(y)
        o_ref[3] = (x << 7) ^ lax.shift_right_logical(~x, y)
        o_ref[4] = jnp.clip(x * x - y, -5, 9)
        o_ref[5] = jnp.where((x > 2) & ~(y == 3) | (x == 0), x, -y)
    return call(kernel, like((6, *x.shape), I32))(x, y)


def masks_in_bytes(mask, x):
    def kernel(m_ref, x_ref, o_ref):
        m = m_ref[...] != 0
        o_ref[...] = jnp.where(m, x_ref[...], -jnp.inf)
        o_ref[...] = jax.nn.softmax(jnp.where(m, x_ref[...], -1e9), axis=-1)
    return call(kernel, like(x.shape), grid=(2,),
                in_specs=[pl.BlockSpec((32, 128), lambda i: (i, 0))] * 2,
                out_specs=pl.BlockSpec((32, 128), lambda i: (i, 0)))(mask, x)


def repeated(x, y):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = jnp.concatenate([x_ref[...]] * 3, axis=1) + jnp.tile(y_ref[...], (2, 3))
    return call(kernel, like((16, 384)))(x, y)


def packed_bits(x, y):
    def kernel(x_ref, y_ref, o_ref, h_ref):
        high = lax.bitcast_convert_type(x_ref[...], I32) & -65536
        low = lax.shift_right_logical(lax.bitcast_convert_type(y_ref[...], I32), 16)
        o_ref[...] = high | low
        h_ref[...] = pltpu.bitcast(high | low, BF16)
    return call(kernel, [like(x.shape, I32), like((2 * x.shape[0], 128), BF16)])(x, y)


def heads_product(q, k):
    def kernel(q_ref, k_ref, o_ref):
        o_ref[...] = jnp.einsum("bhd,bkd->bhk", q_ref[...], k_ref[...],
                                preferred_element_type=F32)
    return call(kernel, like((q.shape[0], q.shape[1], k.shape[1])))(q, k)


def any_of(x):
    def kernel(x_ref, o_ref, c_ref):
        x = x_ref[...]
        c_ref[0] = jnp.any(x > 2.5).astype(I32)
        c_ref[1] = jnp.all(x > -10).astype(I32)
        c_ref[2] = jnp.argmax(jnp.sum(x, axis=0)).astype(I32)
        o_ref[...] = lax.cond(c_ref[0] > 0, lambda: x - jnp.mean(x), lambda: x + jnp.min(x))
    return call(kernel, [like(x.shape), like((3,), I32)], out_specs=[VMEM, SMEM])(x)


def unrolled(x):
    def kernel(x_ref, o_ref):
        def body(i, acc):
            return acc + x_ref[pl.ds(pl.multiple_of(i * 8, 8), 8), :] * (i + 1).astype(F32)
        o_ref[...] = lax.fori_loop(0, 8, body, jnp.zeros((8, 128), F32), unroll=4)
    return call(kernel, like((8, 128)))(x)


def diagonal(x):
    def kernel(x_ref, o_ref, u_ref):
        x = x_ref[...]
        row = lax.broadcasted_iota(I32, x.shape, 0)
        column = lax.broadcasted_iota(I32, x.shape, 1)
        o_ref[...] = jnp.sum(jnp.where(row == column, x, 0.0), axis=0, keepdims=True)
        u_ref[...] = jnp.triu(x) - jnp.tril(x, -2)
    return call(kernel, [like((1, 128)), like((128, 128))])(x)


def solve_lower(a, b):
    """Forward substitution, a row at a time."""
    def kernel(a_ref, b_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)

        def body(i, _):
            row = a_ref[pl.ds(i, 1), :]
            lane = lax.broadcasted_iota(I32, row.shape, 1)
            known = jnp.where(lane < i, row, 0.0)
            part = jnp.sum(known.T * o_ref[...], axis=0, keepdims=True)
            o_ref[pl.ds(i, 1), :] = (b_ref[pl.ds(i, 1), :] - part) / 4.0
            return ()
        lax.fori_loop(0, 16, body, ())
    return call(kernel, like(b.shape))(a, b)


def routed(x):
    """A router: the eight best of each row's experts, one after the other."""
    def kernel(x_ref, o_ref, i_ref):
        x = x_ref[...]
        lane = lax.broadcasted_iota(I32, x.shape, 1)
        best, at = [], []
        for _ in range(8):
            best.append(x.max(-1, keepdims=True))
            at.append(jnp.where(x == best[-1], lane, x.shape[1]).min(-1, keepdims=True))
            x = jnp.where(lane == at[-1], -jnp.inf, x)
        o_ref[...] = jnp.concatenate(best, 1)
        i_ref[...] = jnp.concatenate(at, 1)
    return call(kernel, (like((x.shape[0], 8)), like((x.shape[0], 8), I32)))(x)


def best_lanes(x):
    """The same by argmax, into lanes of two registers."""
    def kernel(x_ref, o_ref, i_ref):
        x = x_ref[...]
        lane = lax.broadcasted_iota(I32, x.shape, 1)
        all_best, all_at = jnp.zeros_like(x), jnp.zeros_like(lane)
        for k in range(8):
            best, at = x.max(-1, keepdims=True), jnp.argmax(x, -1)[:, None].astype(I32)
            all_best = jnp.where(lane == k, best, all_best)
            all_at = jnp.where(lane == k, at, all_at)
            x = jnp.where(lane == at, -jnp.inf, x)
        o_ref[...] = all_best
        i_ref[...] = all_at
    return call(kernel, (like(x.shape), like(x.shape, I32)))(x)


def integer_extremes(x, y):
    """The least, the most and the sum of each row of integers, of any size or of known ones."""
    def kernel(x_ref, y_ref, o_ref, s_ref):
        x, y = x_ref[...], y_ref[...].astype(I32)
        lane = lax.broadcasted_iota(I32, x.shape, 1)
        rows = [x.max(1), x.min(1), x.sum(1), (lane * 70000).max(1), (lane * 7000).sum(1),
                jnp.where(x > 0, lane, 1000).min(1), (x > 0).astype(I32).sum(1),
                y.max(1), y.min(1), y.sum(1), (y * 1000).sum(1)]
        for i, row in enumerate(rows):
            o_ref[i] = row[:, None]
        for i, number in enumerate([x.sum(), x.max(), x.min(), y.sum(), (x > 3).astype(I32).sum()]):
            s_ref[i] = number
    return call(kernel, (like((11, x.shape[0], 1), I32), like((5,), I32)), out_specs=[VMEM, SMEM])(x, y)


INTEGERS = {"": (64, 128), "_few": (50, 77), "_wide": (24, 700)}


def of_all_sizes(shape):
    """Integers of as many bits each as chance has it, and what is at the ends."""
    rng = np.random.default_rng(9)
    x = (rng.integers(-2**31, 2**31, shape) >> rng.integers(0, 31, shape)).astype(np.int32)
    x[0], x[1], x[2, ::2], x[3] = -2**31, 2**31 - 1, -2**31, -1
    return x


ARGUMENTS = {
    **{f"integer_extremes{name}": {0: of_all_sizes(shape)} for name, shape in INTEGERS.items()},
    "switched": {0: np.array([2, 0, 3, 1])},
    "labels_of": {1: np.arange(32).reshape(32, 1) * 7},
    "fourier": {1: np.cos(2 * np.pi / 16 * np.outer(np.arange(16), np.arange(16))),
                2: np.sin(2 * np.pi / 16 * np.outer(np.arange(16), np.arange(16)))},
}
CASES = [
    ("histogram", histogram, [like((32, 128), I32)], 0.0),
    *((f"integer_extremes{name}", integer_extremes, [like(shape, I32), like(shape, I8)], 0.0)
      for name, shape in INTEGERS.items()),
    ("routed", routed, [like((256, 128))], 0.0),
    ("best_lanes", best_lanes, [like((256, 128))], 0.0),
    ("counts_in_smem", counts_in_smem, [like((100,), I32)], 0.0),
    ("kth_largest", kth_largest, [like((16, 256))], 0.0),
    ("taken_lanes", taken_lanes, [like((16, 128)), like((16, 128), I32)], 0.0),
    ("turned_dimensions", turned_dimensions, [like((3, 40, 100), BF16)], 0.0),
    ("rows_of_segments", rows_of_segments, [like((4, 1, 32), I32), like((128, 128))], 1e-5),
    ("labels_of", labels_of, [like((32, 1000), BF16), like((32, 1), I32)], 1e-2),
    ("fourier", fourier, [like((1, 256)), like((16, 16)), like((16, 16))], 5e-2),
    ("convolution", convolution, [like((2, 18, 18, 128)), like((3, 3, 128, 128))], 2e-2),
    ("pooled", pooled, [like((16, 16, 128))], 0.0),
    ("switched", switched, [like((4,), I32), like((32, 128))], 1e-5),
    ("scanned", scanned, [like((16, 128))], 1e-6),
    ("functions", functions, [like((16, 256))], 1e-5),
    ("integers", integers, [like((8, 128), I32)] * 2, 0.0),
    ("masks_in_bytes", masks_in_bytes, [like((64, 128), I8), like((64, 128))], 1e-5),
    ("repeated", repeated, [like((16, 128)), like((8, 128))], 0.0),
    ("packed_bits", packed_bits, [like((16, 128))] * 2, 0.0),
    ("heads_product", heads_product, [like((4, 8, 128), BF16), like((4, 256, 128), BF16)], 2e-2),
    ("any_of", any_of, [like((16, 128))], 1e-5),
    ("unrolled", unrolled, [like((64, 128))], 1e-5),
    ("diagonal", diagonal, [like((128, 128))], 0.0),
    ("solve_lower", solve_lower, [like((16, 16)), like((16, 128))], 1e-4),
]

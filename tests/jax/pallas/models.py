"""Kernels as people write them for models: norms, rotations, fused layers, quantized products,
attention of several kinds.

CASES lists (name, function, shapes of arguments, bound) as library.py does.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F32, BF16, I32, I8 = jnp.float32, jnp.bfloat16, jnp.int32, jnp.int8
I16, FP8, FP8W, I4 = jnp.int16, jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.int4
SMEM = pl.BlockSpec(memory_space=pltpu.SMEM)
VMEM = pl.BlockSpec(memory_space=pltpu.VMEM)


def like(shape, dtype=F32):
    return jax.ShapeDtypeStruct(tuple(shape), dtype)


def call(kernel, out, **settings):
    return pl.pallas_call(kernel, out_shape=out, **settings)


# norms and activations


def layernorm_odd(x, g, b):
    """Rows that no block divides, columns that no tile does."""

    def kernel(x_ref, g_ref, b_ref, o_ref, mean_ref, rstd_ref):
        x = x_ref[...].astype(F32)
        mean = jnp.mean(x, axis=1, keepdims=True)
        c = x - mean
        rstd = jax.lax.rsqrt(jnp.mean(c * c, axis=1, keepdims=True) + 1e-5)
        o_ref[...] = (c * rstd * g_ref[...] + b_ref[...]).astype(o_ref.dtype)
        mean_ref[...] = mean
        rstd_ref[...] = rstd

    rows, columns = x.shape
    block = pl.BlockSpec((16, columns), lambda i: (i, 0))
    one = pl.BlockSpec((16, 1), lambda i: (i, 0))
    row = pl.BlockSpec((1, columns), lambda i: (0, 0))
    return call(
        kernel,
        [like(x.shape, x.dtype), like((rows, 1)), like((rows, 1))],
        grid=(pl.cdiv(rows, 16),),
        in_specs=[block, row, row],
        out_specs=[block, one, one],
    )(x, g, b)


def layernorm_backward(x, g, dy):
    """Sums over all rows in an output that is revisited."""

    def kernel(x_ref, g_ref, dy_ref, dx_ref, dg_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            dg_ref[...] = jnp.zeros_like(dg_ref)

        x, dy = x_ref[...], dy_ref[...]
        mean = jnp.mean(x, axis=-1, keepdims=True)
        var = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
        rstd = 1 / jnp.sqrt(var + 1e-5)
        hat = (x - mean) * rstd
        wdy = dy * g_ref[...]
        c1 = jnp.mean(hat * wdy, axis=-1, keepdims=True)
        c2 = jnp.mean(wdy, axis=-1, keepdims=True)
        dx_ref[...] = (wdy - (hat * c1 + c2)) * rstd
        dg_ref[...] += jnp.sum(dy * hat, axis=0, keepdims=True)

    block = pl.BlockSpec((8, 256), lambda i: (i, 0))
    row = pl.BlockSpec((1, 256), lambda i: (0, 0))
    return call(
        kernel,
        [like(x.shape), like((1, 256))],
        grid=(x.shape[0] // 8,),
        in_specs=[block, row, block],
        out_specs=[block, row],
    )(x, g, dy)


def softmax_masked(lengths, x):
    """Rows of different lengths, said by a table in SMEM."""

    def kernel(len_ref, x_ref, o_ref):
        i = pl.program_id(0)
        x = x_ref[...]
        column = jax.lax.broadcasted_iota(I32, x.shape, 1)
        mask = column < len_ref[i]
        x = jnp.where(mask, x, -jnp.inf)
        p = jnp.exp(x - jnp.max(x, axis=1, keepdims=True))
        p = jnp.where(mask, p, 0.0)
        o_ref[...] = p / jnp.sum(p, axis=1, keepdims=True)

    block = pl.BlockSpec((8, x.shape[1]), lambda i: (i, 0))
    return call(
        kernel, like(x.shape), grid=(x.shape[0] // 8,), in_specs=[SMEM, block], out_specs=block
    )(lengths, x)


def geglu(x, w1, w2):
    """Two products and an activation, then a third product summed up over blocks."""

    def kernel(x_ref, gate_ref, up_ref, down_ref, o_ref, acc_ref):
        j = pl.program_id(1)

        @pl.when(j == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        gate = jnp.dot(x_ref[...], gate_ref[...], preferred_element_type=F32)
        up = jnp.dot(x_ref[...], up_ref[...], preferred_element_type=F32)
        h = (jax.nn.gelu(gate, approximate=True) * up).astype(BF16)
        acc_ref[...] += jnp.dot(h, down_ref[...], preferred_element_type=F32)

        @pl.when(j == pl.num_programs(1) - 1)
        def _():
            o_ref[...] = acc_ref[...].astype(o_ref.dtype)

    (m, d), f = x.shape, w2.shape[0]
    nf = f // 128
    return call(
        kernel,
        like((m, d), BF16),
        grid=(m // 32, nf),
        in_specs=[
            pl.BlockSpec((32, d), lambda i, j: (i, 0)),
            pl.BlockSpec((d, 128), lambda i, j: (0, j)),
            pl.BlockSpec((d, 128), lambda i, j: (0, j + nf)),
            pl.BlockSpec((128, d), lambda i, j: (j, 0)),
        ],
        out_specs=pl.BlockSpec((32, d), lambda i, j: (i, 0)),
        scratch_shapes=[pltpu.VMEM((32, d), F32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(x, w1, w1, w2)


def swiglu_bf16(x, y):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] * jax.nn.sigmoid(x_ref[...]) * y_ref[...]

    return call(kernel, like(x.shape, BF16))(x, y)


def rope_halves(x, cos, sin):
    """Heads of 128 of which the halves are joined again."""

    def kernel(x_ref, cos_ref, sin_ref, o_ref):
        x = x_ref[0].astype(F32)
        a, b = x[:, :64], x[:, 64:]
        c, s = cos_ref[...], sin_ref[...]
        o_ref[0] = jnp.concatenate([a * c - b * s, b * c + a * s], axis=1).astype(o_ref.dtype)

    h, n, d = x.shape
    return call(
        kernel,
        like(x.shape, x.dtype),
        grid=(h,),
        in_specs=[
            pl.BlockSpec((1, n, d), lambda i: (i, 0, 0)),
            pl.BlockSpec((n, 64), lambda i: (0, 0)),
            pl.BlockSpec((n, 64), lambda i: (0, 0)),
        ],
        out_specs=pl.BlockSpec((1, n, d), lambda i: (i, 0, 0)),
    )(x, cos, sin)


def rope_pairs(x, cos, sin):
    """Even and odd elements, by rotations and a selection."""

    def kernel(x_ref, cos_ref, sin_ref, o_ref):
        x = x_ref[...]
        lane = jax.lax.broadcasted_iota(I32, x.shape, 1)
        left = pltpu.roll(x, 127, 1)
        right = pltpu.roll(x, 1, 1)
        turned = jnp.where(lane % 2 == 0, -left, right)
        o_ref[...] = x * cos_ref[...] + turned * sin_ref[...]

    return call(kernel, like(x.shape))(x, cos, sin)


# quantized


def quantize_rows(x):
    def kernel(x_ref, q_ref, s_ref):
        x = x_ref[...].astype(F32)
        most = jnp.max(jnp.abs(x), axis=1, keepdims=True)
        scale = most / 127.0
        q_ref[...] = jnp.round(x / scale).astype(I8)
        s_ref[...] = scale

    n, d = x.shape
    return call(
        kernel,
        [like((n, d), I8), like((n, 1))],
        grid=(n // 32,),
        in_specs=[pl.BlockSpec((32, d), lambda i: (i, 0))],
        out_specs=[
            pl.BlockSpec((32, d), lambda i: (i, 0)),
            pl.BlockSpec((32, 1), lambda i: (i, 0)),
        ],
    )(x)


def dequantized_product(x, w, s):
    """bf16 by int8, widened in the kernel, scaled by column."""

    def kernel(x_ref, w_ref, s_ref, o_ref, acc_ref):
        k = pl.program_id(2)

        @pl.when(k == 0)
        def _():
            acc_ref[...] = jnp.zeros(acc_ref.shape, acc_ref.dtype)

        acc_ref[...] += jnp.dot(x_ref[...], w_ref[...].astype(BF16), preferred_element_type=F32)

        @pl.when(k == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = (acc_ref[...] * s_ref[...]).astype(o_ref.dtype)

    (m, d), n = x.shape, w.shape[1]
    return call(
        kernel,
        like((m, n), BF16),
        grid=(m // 64, n // 128, d // 128),
        in_specs=[
            pl.BlockSpec((64, 128), lambda i, j, k: (i, k)),
            pl.BlockSpec((128, 128), lambda i, j, k: (k, j)),
            pl.BlockSpec((1, 128), lambda i, j, k: (0, j)),
        ],
        out_specs=pl.BlockSpec((64, 128), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((64, 128), F32)],
    )(x, w, s)


def int4_product(x, w, s):
    """Weights of 4 bits, a scale for each 128 rows."""

    def kernel(x_ref, w_ref, s_ref, o_ref):
        total = jnp.zeros(o_ref.shape, F32)
        for g in range(w_ref.shape[0] // 128):
            part = w_ref[g * 128 : (g + 1) * 128, :].astype(I32).astype(F32).astype(BF16)
            total += (
                jnp.dot(x_ref[:, g * 128 : (g + 1) * 128], part, preferred_element_type=F32)
                * s_ref[g : g + 1, :]
            )
        o_ref[...] = total

    return call(kernel, like((x.shape[0], w.shape[1])))(x, w, s)


def packed_nibbles(x, w):
    """4-bit weights packed by hand, two in a byte."""

    def kernel(x_ref, w_ref, o_ref):
        w = w_ref[...].astype(I32)
        low = ((w << 28) >> 28).astype(F32).astype(BF16)
        high = ((w << 24) >> 28).astype(F32).astype(BF16)
        half = w_ref.shape[0]
        o_ref[...] = jnp.dot(x_ref[:, :half], low, preferred_element_type=F32) + jnp.dot(
            x_ref[:, half:], high, preferred_element_type=F32
        )

    return call(kernel, like((x.shape[0], w.shape[1])))(x, w)


def fp8_product(x, w):
    def kernel(x_ref, w_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], w_ref[...].astype(BF16), preferred_element_type=F32)

    return call(kernel, like((x.shape[0], w.shape[1])))(x, w)


def fp8_both(x, w):
    def kernel(x_ref, w_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], w_ref[...], preferred_element_type=F32)

    return call(kernel, like((x.shape[0], w.shape[1])))(x, w)


def fp8_quantize(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.clip(x_ref[...] * 4, -448, 448).astype(FP8)

    return call(kernel, like(x.shape, FP8))(x)


def int16_sums(x, y):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = (x_ref[...].astype(I32) * y_ref[...].astype(I32) + 3).astype(I16)

    return call(kernel, like(x.shape, I16))(x, y)


# attention


def sliding_window(q, k, v):
    """A band of keys; blocks outside of it are never looked at."""
    n, d = q.shape
    block, window = 64, 100

    def kernel(q_ref, k_ref, v_ref, o_ref):
        i = pl.program_id(0)
        q = q_ref[...]
        row = i * block + jax.lax.broadcasted_iota(I32, (block, block), 0)
        first = jnp.maximum(i * block - window, 0) // block

        def body(j, carry):
            m, l, acc = carry
            at = pl.multiple_of(j * block, block)
            k = k_ref[pl.ds(at, block), :]
            v = v_ref[pl.ds(at, block), :]
            s = jax.lax.dot_general(q, k, (((1,), (1,)), ((), ())), preferred_element_type=F32) * (
                d**-0.5
            )
            col = j * block + jax.lax.broadcasted_iota(I32, (block, block), 1)
            s = jnp.where((col <= row) & (row - col < window), s, -1e30)
            m_new = jnp.maximum(m, jnp.max(s, axis=1, keepdims=True))
            p = jnp.exp(s - m_new)
            alpha = jnp.exp(m - m_new)
            return (
                m_new,
                l * alpha + jnp.sum(p, axis=1, keepdims=True),
                acc * alpha + jnp.dot(p.astype(v.dtype), v, preferred_element_type=F32),
            )

        m, l, acc = jax.lax.fori_loop(
            first,
            i + 1,
            body,
            (jnp.full((block, 1), -1e30), jnp.zeros((block, 1)), jnp.zeros((block, d))),
        )
        o_ref[...] = (acc / l).astype(o_ref.dtype)

    whole = pl.BlockSpec((n, d), lambda i: (0, 0))
    part = pl.BlockSpec((block, d), lambda i: (i, 0))
    return call(
        kernel,
        like(q.shape, q.dtype),
        grid=(n // block,),
        in_specs=[part, whole, whole],
        out_specs=part,
    )(q, k, v)


def decode(lengths, q, k, v):
    """One query per sequence, heads in groups, keys up to the sequence's length."""
    b, heads, d = q.shape
    kv, n = k.shape[1], k.shape[2]
    group, block = heads // kv, 128

    def kernel(len_ref, q_ref, k_ref, v_ref, o_ref, m_ref, l_ref, acc_ref):
        i, j = pl.program_id(0), pl.program_id(2)

        @pl.when(j == 0)
        def _():
            m_ref[...] = jnp.full(m_ref.shape, -1e30, F32)
            l_ref[...] = jnp.zeros(l_ref.shape, F32)
            acc_ref[...] = jnp.zeros(acc_ref.shape, F32)

        @pl.when(j * block < len_ref[i])
        def _():
            s = jax.lax.dot_general(
                q_ref[0, 0], k_ref[0, 0], (((1,), (1,)), ((), ())), preferred_element_type=F32
            ) * (d**-0.5)
            at = j * block + jax.lax.broadcasted_iota(I32, s.shape, 1)
            s = jnp.where(at < len_ref[i], s, -1e30)
            m_old = m_ref[:, :1]
            m_new = jnp.maximum(m_old, jnp.max(s, axis=1, keepdims=True))
            p = jnp.exp(s - m_new)
            alpha = jnp.exp(m_old - m_new)
            l_ref[...] = jnp.broadcast_to(
                alpha * l_ref[:, :1] + jnp.sum(p, axis=1, keepdims=True), l_ref.shape
            )
            m_ref[...] = jnp.broadcast_to(m_new, m_ref.shape)
            acc_ref[...] = acc_ref[...] * alpha + jnp.dot(
                p.astype(BF16), v_ref[0, 0], preferred_element_type=F32
            )

        @pl.when(j == pl.num_programs(2) - 1)
        def _():
            o_ref[0, 0] = (acc_ref[...] / l_ref[:, :1]).astype(o_ref.dtype)

    q = q.reshape(b, kv, group, d)

    def keys(i, h, j, lens):
        return i, h, jnp.minimum(j, (lens[i] - 1) // block), 0

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(b, kv, n // block),
        in_specs=[
            pl.BlockSpec((1, 1, group, d), lambda i, h, j, lens: (i, h, 0, 0)),
            pl.BlockSpec((1, 1, block, d), keys),
            pl.BlockSpec((1, 1, block, d), keys),
        ],
        out_specs=pl.BlockSpec((1, 1, group, d), lambda i, h, j, lens: (i, h, 0, 0)),
        scratch_shapes=[pltpu.VMEM((group, 128), F32)] * 2 + [pltpu.VMEM((group, d), F32)],
    )
    return call(kernel, like(q.shape, BF16), grid_spec=spec)(lengths, q, k, v)


def attention_bias(q, k, v, bias):
    """All keys at once, with a bias and a cap."""

    def kernel(q_ref, k_ref, v_ref, b_ref, o_ref):
        s = jnp.dot(q_ref[...], k_ref[...].T, preferred_element_type=F32) * 0.125
        s = 20.0 * jnp.tanh(s / 20.0) + b_ref[...].astype(F32)
        p = jax.nn.softmax(s, axis=-1)
        o_ref[...] = jnp.dot(p.astype(BF16), v_ref[...], preferred_element_type=F32).astype(
            o_ref.dtype
        )

    h, n, d = q.shape
    part = pl.BlockSpec((None, 64, d), lambda i, j: (i, j, 0))
    whole = pl.BlockSpec((None, n, d), lambda i, j: (i, 0, 0))
    return call(
        kernel,
        like(q.shape, BF16),
        grid=(h, n // 64),
        in_specs=[part, whole, whole, pl.BlockSpec((None, 64, n), lambda i, j: (i, j, 0))],
        out_specs=part,
    )(q, k, v, bias)


def linear_attention(q, k, v):
    """A state that goes from chunk to chunk in scratch."""

    def kernel(q_ref, k_ref, v_ref, o_ref, state_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            state_ref[...] = jnp.zeros_like(state_ref)

        q, k, v = q_ref[0], k_ref[0], v_ref[0]
        n = q.shape[0]
        s = jax.lax.dot_general(q, k, (((1,), (1,)), ((), ())), preferred_element_type=F32)
        keep = jax.lax.broadcasted_iota(I32, (n, n), 0) >= jax.lax.broadcasted_iota(I32, (n, n), 1)
        s = jnp.where(keep, s, 0.0)
        o_ref[0] = jnp.dot(s, v, preferred_element_type=F32) + jnp.dot(
            q, state_ref[...], preferred_element_type=F32
        )
        state_ref[...] = state_ref[...] * 0.9 + jax.lax.dot_general(
            k, v, (((0,), (0,)), ((), ())), preferred_element_type=F32
        )

    h, n, d = q.shape
    part = pl.BlockSpec((1, 64, d), lambda i, j: (i, j, 0))
    return call(
        kernel,
        like(q.shape),
        grid=(h, n // 64),
        in_specs=[part] * 3,
        out_specs=part,
        scratch_shapes=[pltpu.VMEM((d, d), F32)],
    )(q, k, v)


ARGUMENTS = {
    "softmax_masked": {0: [5, 128, 200]},
    "decode": {0: [300, 17]},
}
CASES = [
    ("layernorm_odd", layernorm_odd, [like((50, 200), BF16), like((1, 200)), like((1, 200))], 2e-2),
    (
        "layernorm_backward",
        layernorm_backward,
        [like((40, 256)), like((1, 256)), like((40, 256))],
        1e-4,
    ),
    ("softmax_masked", softmax_masked, [like((3,), I32), like((24, 200))], 1e-5),
    ("geglu", geglu, [like((64, 128), BF16), like((128, 512), BF16), like((256, 128), BF16)], 2e-2),
    ("swiglu_bf16", swiglu_bf16, [like((40, 256), BF16)] * 2, 2e-2),
    ("rope_halves", rope_halves, [like((2, 48, 128), BF16), like((48, 64)), like((48, 64))], 1e-2),
    ("rope_pairs", rope_pairs, [like((24, 128))] * 3, 1e-5),
    ("quantize_rows", quantize_rows, [like((64, 256), BF16)], 1e-2),
    (
        "dequantized_product",
        dequantized_product,
        [like((128, 256), BF16), like((256, 256), I8), like((1, 256))],
        2e-2,
    ),
    (
        "int4_product",
        int4_product,
        [like((16, 256), BF16), like((256, 128), I4), like((2, 128))],
        2e-2,
    ),
    ("packed_nibbles", packed_nibbles, [like((16, 256), BF16), like((128, 128), I8)], 2e-2),
    ("fp8_product", fp8_product, [like((32, 128), BF16), like((128, 128), FP8)], 2e-2),
    ("fp8_both", fp8_both, [like((32, 128), FP8), like((128, 128), FP8)], 2e-2),
    ("fp8_wide", fp8_product, [like((32, 128), BF16), like((128, 128), FP8W)], 2e-2),
    ("fp8_quantize", fp8_quantize, [like((32, 256))], 0.0),
    ("int16_sums", int16_sums, [like((32, 128), I16)] * 2, 0.0),
    ("sliding_window", sliding_window, [like((256, 128), BF16)] * 3, 2e-2),
    (
        "decode",
        decode,
        [
            like((2,), I32),
            like((2, 8, 128), BF16),
            like((2, 2, 384, 128), BF16),
            like((2, 2, 384, 128), BF16),
        ],
        2e-2,
    ),
    (
        "attention_bias",
        attention_bias,
        [like((2, 128, 64), BF16)] * 3 + [like((2, 128, 128), BF16)],
        2e-2,
    ),
    ("linear_attention", linear_attention, [like((1, 128, 128))] * 3, 2e-2),
]

"""Kernels of odd types, rows and shapes: narrow integers and floats, blocks and copies of rows that are
no whole tiles, many arrays, what loops carry, pieces of every kind.

CASES lists (name, function, shapes of arguments, bound) as library.py does.
"""

import jax
import jax.numpy as jnp
from common import ANY, BF16, F32, FP8, FP8W, I4, I8, I16, I32, SMEM, VMEM, call, like
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def many_arrays(*xs):
    def kernel(*refs):
        total = jnp.zeros(refs[-1].shape, F32)
        for i, r in enumerate(refs[:-1]):
            total += r[...] * (i + 1)
        refs[-1][...] = total

    block = pl.BlockSpec((16, 128), lambda i: (i, 0))
    return call(kernel, like((32, 128)), grid=(2,), in_specs=[block] * len(xs), out_specs=block)(
        *xs
    )


def int16_wrap(x, y):
    def kernel(x_ref, y_ref, o_ref, m_ref, c_ref):
        x, y = x_ref[...], y_ref[...]
        o_ref[...] = x * y * jnp.int16(3000) + (x << 13)
        m_ref[...] = jnp.maximum(x, y).astype(F32)
        c_ref[...] = jnp.where(x * jnp.int16(20000) > y, x, y)

    return call(kernel, [like(x.shape, I16), like(x.shape), like(x.shape, I16)])(x, y)


def uint4(x):
    def kernel(x_ref, o_ref, u_ref):
        x = x_ref[...].astype(I32)
        o_ref[...] = x * 2
        u_ref[...] = (x + 5).astype(jnp.uint4)

    return call(kernel, [like(x.shape, I32), like(x.shape, jnp.uint4)])(x)


def int4_out(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.clip(jnp.round(x_ref[...] * 3), -8, 7).astype(I32).astype(I4)

    return call(kernel, like(x.shape, I4))(x)


def fp8_blocks(x, w, s):
    def kernel(x_ref, w_ref, s_ref, o_ref, acc):
        @pl.when(pl.program_id(1) == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)

        acc[...] += jax.lax.dot_general(
            x_ref[...], w_ref[...], (((1,), (1,)), ((), ())), preferred_element_type=F32
        )

        @pl.when(pl.program_id(1) == pl.num_programs(1) - 1)
        def _():
            o_ref[...] = (acc[...] * s_ref[...]).astype(BF16)

    m, k = x.shape
    n = w.shape[0]
    return call(
        kernel,
        like((m, n), BF16),
        grid=(n // 128, k // 128),
        in_specs=[
            pl.BlockSpec((m, 128), lambda j, k: (0, k)),
            pl.BlockSpec((128, 128), lambda j, k: (j, k)),
            pl.BlockSpec((1, 128), lambda j, k: (0, j)),
        ],
        out_specs=pl.BlockSpec((m, 128), lambda j, k: (0, j)),
        scratch_shapes=[pltpu.VMEM((m, 128), F32)],
    )(x, w, s)


def fp8_rows(x):
    def kernel(x_ref, o_ref, s_ref):
        s_ref[...] = x_ref[...].astype(FP8)
        o_ref[...] = s_ref[3:11, :].astype(F32) + s_ref[pl.ds(1, 8), :].astype(F32)

    return call(kernel, like((8, 128)), scratch_shapes=[pltpu.VMEM((32, 128), FP8)])(x)


def fp8_attention(q, k, v):
    def kernel(q_ref, k_ref, v_ref, o_ref):
        k, v = k_ref[...].astype(BF16), v_ref[...].astype(BF16)
        s = (
            jax.lax.dot_general(q_ref[...], k, (((1,), (1,)), ((), ())), preferred_element_type=F32)
            * 0.1
        )
        p = jax.nn.softmax(s, -1)
        o_ref[...] = jnp.dot(p.astype(BF16), v, preferred_element_type=F32).astype(BF16)

    return call(kernel, like(q.shape, BF16))(q, k, v)


def fp8_e5(x):
    def kernel(x_ref, o_ref, b_ref):
        y = x_ref[...].astype(FP8W)
        o_ref[...] = y
        b_ref[...] = (y.astype(BF16) * 2).astype(FP8W)

    return call(kernel, [like(x.shape, FP8W)] * 2)(x)


def bf16_rows8(x, y):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...]

    b = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return call(kernel, like(x.shape, BF16), grid=(x.shape[0] // 8,), in_specs=[b, b], out_specs=b)(
        x, y
    )


def bf16_heads8(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = (x_ref[...].astype(F32) * 2).astype(BF16)

    b = pl.BlockSpec((1, 8, 128), lambda i: (i, 0, 0))
    return call(kernel, like(x.shape, BF16), grid=(x.shape[0],), in_specs=[b], out_specs=b)(x)


def bf16_dma8(at, x):
    def kernel(at_ref, x_hbm, o_ref, buf, sem):
        c = pltpu.make_async_copy(x_hbm.at[pl.ds(at_ref[0] * 8, 8)], buf, sem)
        c.start()
        c.wait()
        o_ref[...] = buf[...].astype(F32)

    return call(
        kernel,
        like((8, 128)),
        in_specs=[SMEM, ANY],
        scratch_shapes=[pltpu.VMEM((8, 128), BF16), pltpu.SemaphoreType.DMA],
    )(at, x)


def sized_parts(n, x, v):
    """parts whose rows and lanes, and a vector's words, are counted as the kernel runs"""

    def kernel(n_ref, x_hbm, v_hbm, o_ref, ov_ref, buf, words, sem):
        def copy(source, target):
            c = pltpu.make_async_copy(source, target, sem)
            c.start()
            c.wait()

        buf[...] = jnp.zeros_like(buf)
        words[...] = jnp.zeros_like(words)
        rows = pl.ds(0, 16 * (1 + (n_ref[0] & 3)))
        lanes = pl.ds(0, 128 * (1 + (n_ref[1] & 1)))
        count = pl.ds(0, 128 * (1 + (n_ref[2] & 7)))
        first = pl.ds(128 * (n_ref[1] & 1), 128 * (1 + (n_ref[1] & 1)))
        copy(x_hbm.at[rows, first], buf.at[rows, lanes])
        copy(v_hbm.at[count], words.at[count])
        o_ref[...] = buf[...]
        ov_ref[...] = words[...]

    return call(
        kernel,
        [like((64, 256), x.dtype), like((1024,), I32)],
        in_specs=[SMEM, ANY, ANY],
        scratch_shapes=[
            pltpu.VMEM((64, 256), x.dtype),
            pltpu.VMEM((1024,), I32),
            pltpu.SemaphoreType.DMA,
        ],
    )(n, x, v)


def paged_kv(pages, kv, q):
    """pages of 16 tokens x 2 heads of bf16, copied, then reshaped"""

    def kernel(p_ref, kv_hbm, q_ref, o_ref, buf, sem):
        for i in range(2):
            pltpu.make_async_copy(kv_hbm.at[p_ref[i]], buf.at[i], sem).start()
        for i in range(2):
            pltpu.make_async_copy(kv_hbm.at[p_ref[i]], buf.at[i], sem).wait()
        k = buf[...].reshape(32, 4, 128)
        for h in range(4):
            kh = k[:, h, :]
            o_ref[h] = jax.lax.dot_general(
                q_ref[h], kh, (((1,), (1,)), ((), ())), preferred_element_type=F32
            )

    return call(
        kernel,
        like((4, 8, 32)),
        in_specs=[SMEM, ANY, VMEM],
        scratch_shapes=[pltpu.VMEM((2, 16, 4, 128), BF16), pltpu.SemaphoreType.DMA],
    )(pages, kv, q)


def masked_store(x, n):
    def kernel(x_ref, n_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)
        mask = jax.lax.broadcasted_iota(I32, x_ref.shape, 1) < n_ref[0]
        pltpu.store(o_ref.at[...], x_ref[...], mask=mask)

    return call(kernel, like(x.shape), in_specs=[VMEM, SMEM])(x, n)


def einsum3(q, k):
    def kernel(q_ref, k_ref, o_ref):
        o_ref[...] = jnp.einsum('bqd,bkd->bqk', q_ref[...], k_ref[...], preferred_element_type=F32)

    return call(kernel, like((q.shape[0], q.shape[1], k.shape[1])))(q, k)


def matvec(x, w):
    def kernel(x_ref, w_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], w_ref[...], preferred_element_type=F32)

    return call(kernel, like((1, w.shape[1])))(x, w)


def sums_of_products(a, b, c, d):
    """More products in one expression than some chips have matrix units."""

    def kernel(a_ref, b_ref, c_ref, d_ref, o_ref):
        def dot(x, y):
            return jnp.dot(x, y, preferred_element_type=F32)

        a = a_ref[...]
        o_ref[...] = (
            jnp.tanh(dot(a, b_ref[...]))
            + jax.nn.relu(dot(a, c_ref[...])) * jnp.tanh(dot(a, d_ref[...]))
            + dot(a, b_ref[...].T)
        )

    return call(kernel, like((a.shape[0], b.shape[1])))(a, b, c, d)


def argsort_small(x):
    def kernel(x_ref, o_ref):
        x = x_ref[...]
        rank = jnp.zeros(x.shape, I32)
        for k in range(16):
            rank += (x[:, k : k + 1] < x).astype(I32)
        o_ref[...] = rank

    return call(kernel, like(x.shape, I32))(x)


def while_newton(x):
    def kernel(x_ref, o_ref):
        a = x_ref[...] * x_ref[...] + 1.0

        def cond(c):
            i, y, err = c
            return (i < 20) & (err > 1e-3)

        def body(c):
            i, y, err = c
            z = 0.5 * (y + a / y)
            return i + 1, z, jnp.max(jnp.abs(z - y))

        _, y, _ = jax.lax.while_loop(cond, body, (0, a, jnp.float32(1e9)))
        o_ref[...] = y

    return call(kernel, like(x.shape))(x)


def smem_out(x):
    def kernel(x_ref, o_ref, c_ref):
        def body(i, c):
            s = jnp.sum(x_ref[pl.ds(i, 1), :])
            c_ref[i] = s
            return c + s

        o_ref[0] = jax.lax.fori_loop(0, x_ref.shape[0], body, jnp.float32(0))

    return call(kernel, [like((1,)), like((8,))], out_specs=[SMEM, SMEM])(x)


def dynamic_lane(at, x):
    def kernel(at_ref, x_ref, o_ref):
        o_ref[...] = x_ref[:, pl.ds(pl.multiple_of(at_ref[0] * 128, 128), 128)]

    return call(kernel, like((16, 128)), in_specs=[SMEM, VMEM])(at, x)


def clamp_grid(x):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] - y_ref[...]

    b = pl.BlockSpec((8, 128), lambda i: (i, 0))
    p = pl.BlockSpec((8, 128), lambda i: (jnp.maximum(i - 1, 0), 0))
    return call(kernel, like(x.shape), grid=(x.shape[0] // 8,), in_specs=[b, p], out_specs=b)(x, x)


def core_parallel(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.exp(x_ref[...])

    b = pl.BlockSpec((8, 128), lambda i, j: (i, j))
    return call(
        kernel,
        like(x.shape),
        grid=(4, 2),
        in_specs=[b],
        out_specs=b,
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel")),
    )(x)


def logsumexp2(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = jax.nn.logsumexp(x_ref[...], axis=0, keepdims=True)

    return call(kernel, like((1, x.shape[1])))(x)


def stack_concat(x, y):
    def kernel(x_ref, y_ref, o_ref, p_ref):
        o_ref[...] = jnp.stack([x_ref[...], y_ref[...]], axis=0)
        p_ref[...] = jnp.pad(x_ref[...], ((0, 8), (0, 128)))

    return call(kernel, [like((2,) + x.shape), like((x.shape[0] + 8, x.shape[1] + 128))])(x, y)


def split_halves(x):
    def kernel(x_ref, o_ref):
        a, b = jnp.split(x_ref[...], 2, axis=1)
        o_ref[...] = jax.nn.silu(a) * b

    return call(kernel, like((x.shape[0], x.shape[1] // 2), x.dtype))(x)


def rms_bf16_add(x, r, w):
    def kernel(x_ref, r_ref, w_ref, o_ref, s_ref):
        s = x_ref[...].astype(F32) + r_ref[...].astype(F32)
        s_ref[...] = s.astype(BF16)
        o_ref[...] = (s * jax.lax.rsqrt(jnp.mean(jnp.square(s), -1, keepdims=True) + 1e-6)).astype(
            BF16
        ) * w_ref[...]

    b = pl.BlockSpec((8, 256), lambda i: (i, 0))
    w1 = pl.BlockSpec((1, 256), lambda i: (0, 0))
    return call(
        kernel,
        [like(x.shape, BF16)] * 2,
        grid=(x.shape[0] // 8,),
        in_specs=[b, b, w1],
        out_specs=[b, b],
        input_output_aliases={1: 1},
    )(x, r, w)


def one_row_blocks(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    b = pl.BlockSpec((None, 1, 200), lambda i: (i, 0, 0))
    return call(kernel, like(x.shape), grid=(x.shape[0],), in_specs=[b], out_specs=b)(x)


def transposed_bf16(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...].T

    return call(kernel, like((x.shape[1], x.shape[0]), BF16))(x)


def lane_gather(x, i):
    def kernel(x_ref, i_ref, o_ref):
        o_ref[...] = jnp.take_along_axis(x_ref[...], i_ref[...], axis=1)

    return call(kernel, like(x.shape))(x, i)


def iota_masks(x):
    def kernel(x_ref, o_ref):
        r = jax.lax.broadcasted_iota(I32, x_ref.shape, 0)
        c = jax.lax.broadcasted_iota(I32, x_ref.shape, 1)
        o_ref[...] = jnp.where((r + c) % 3 == 0, x_ref[...], jnp.where(r > c, -1.0, 0.5))

    return call(kernel, like(x.shape))(x)


def batched_norm(x):
    def kernel(x_ref, o_ref):
        x = x_ref[...]
        o_ref[...] = x / jnp.sqrt(jnp.sum(x * x, axis=(1, 2), keepdims=True))

    return call(kernel, like(x.shape))(x)


def pipeline_lines(x):
    def kernel(x_hbm, o_hbm):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] + 1.0

        pltpu.emit_pipeline(
            body,
            grid=(x_hbm.shape[0] // 8, 2),
            in_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j))],
            out_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j))],
        )(x_hbm, o_hbm)

    return call(kernel, like(x.shape), in_specs=[ANY], out_specs=ANY)(x)


def hbm_to_hbm(x):
    def kernel(x_hbm, o_hbm, sem):
        c = pltpu.make_async_copy(x_hbm, o_hbm, sem)
        c.start()
        c.wait()

    return call(
        kernel,
        like(x.shape, x.dtype),
        in_specs=[ANY],
        out_specs=ANY,
        scratch_shapes=[pltpu.SemaphoreType.DMA],
    )(x)


def run_scoped(x):
    def kernel(x_ref, o_ref):
        def body(tmp):
            tmp[...] = x_ref[...] * 3
            o_ref[...] = tmp[...] + tmp[...]

        pl.run_scoped(body, pltpu.VMEM(x_ref.shape, F32))

    return call(kernel, like(x.shape))(x)


def bf16_wide8(x, y):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...]

    b = pl.BlockSpec((8, 256), lambda i, j: (i, j))
    return call(
        kernel, like(x.shape, BF16), grid=(x.shape[0] // 8, 2), in_specs=[b, b], out_specs=b
    )(x, y)


def bf16_rows24(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    b = pl.BlockSpec((24, 256), lambda i: (i, 0))
    return call(
        kernel, like(x.shape, BF16), grid=(pl.cdiv(x.shape[0], 24),), in_specs=[b], out_specs=b
    )(x)


def int8_rows8(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = (x_ref[...].astype(I32) + 1).astype(I8)

    b = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return call(kernel, like(x.shape, I8), grid=(x.shape[0] // 8,), in_specs=[b], out_specs=b)(x)


def f32_rows4(x):
    def kernel(x_ref, o_ref, buf, sem):
        for i in range(4):
            c = pltpu.make_async_copy(x_ref.at[pl.ds(i * 4, 4)], buf.at[pl.ds((3 - i) * 4, 4)], sem)
            c.start()
            c.wait()
        o_ref[...] = buf[...]

    return call(
        kernel,
        like((16, 256)),
        in_specs=[ANY],
        scratch_shapes=[pltpu.VMEM((16, 256), F32), pltpu.SemaphoreType.DMA],
    )(x)


def scatter_rows(at, x, cache):
    """rows of f32 written one by one into a large array in place"""

    def kernel(at_ref, x_ref, c_in, c_ref, sem):
        for i in range(8):
            pltpu.make_async_copy(
                x_ref.at[pl.ds(i, 1)], c_ref.at[pl.ds(at_ref[i] + 8 * i, 1)], sem
            ).start()
        for i in range(8):
            pltpu.make_async_copy(
                x_ref.at[pl.ds(i, 1)], c_ref.at[pl.ds(at_ref[i] + 8 * i, 1)], sem
            ).wait()

    return call(
        kernel,
        like(cache.shape),
        in_specs=[SMEM, VMEM, ANY],
        out_specs=ANY,
        input_output_aliases={2: 0},
        scratch_shapes=[pltpu.SemaphoreType.DMA],
    )(at, x, cache)


def gather_rows(at, x):
    def kernel(at_ref, x_ref, o_ref, sem):
        def go(i, _):
            pltpu.make_async_copy(x_ref.at[at_ref[i]], o_ref.at[i], sem).start()
            return 0

        jax.lax.fori_loop(0, 16, go, 0)

        def end(i, _):
            pltpu.make_async_copy(x_ref.at[0], o_ref.at[0], sem).wait()
            return 0

        jax.lax.fori_loop(0, 16, end, 0)

    return call(
        kernel, like((16, 384)), in_specs=[SMEM, ANY], scratch_shapes=[pltpu.SemaphoreType.DMA]
    )(at, x)


def bf16_pieces(at, x, y):
    """40 rows of bf16 from any multiple of 8 on, into a part of a buffer"""

    def kernel(at_ref, x_ref, y_ref, o_ref, buf, sem):
        buf[...] = y_ref[...]
        c = pltpu.make_async_copy(x_ref.at[pl.ds(at_ref[0] * 8, 40)], buf.at[pl.ds(8, 40)], sem)
        c.start()
        c.wait()
        o_ref[...] = buf[...]

    return call(
        kernel,
        like((64, 256), BF16),
        in_specs=[SMEM, ANY, VMEM],
        scratch_shapes=[pltpu.VMEM((64, 256), BF16), pltpu.SemaphoreType.DMA],
    )(at, x, y)


def heads_of(x):
    """A row of each of the outer indices, of packed rows."""

    def kernel(x_ref, o_ref):
        x = x_ref[...]
        for h in range(x.shape[1]):
            o_ref[h] = x[:, h, :].astype(F32)

    return call(kernel, like((x.shape[1], x.shape[0], x.shape[2])))(x)


def head_products(x, q):
    def kernel(x_ref, q_ref, o_ref):
        x = x_ref[...]
        for h in range(4):
            o_ref[h] = jax.lax.dot_general(
                q_ref[h], x[:, h, :], (((1,), (1,)), ((), ())), preferred_element_type=F32
            )

    return call(kernel, like((4, q.shape[1], x.shape[0])))(x, q)


CASES = [
    ("bf16_wide8", bf16_wide8, [like((40, 512), BF16)] * 2, 1e-2),
    ("bf16_rows24", bf16_rows24, [like((64, 256), BF16)], 1e-2),
    ("int8_rows8", int8_rows8, [like((40, 128), I8)], 0.0),
    ("f32_rows4", f32_rows4, [like((16, 256))], 0.0),
    ("scatter_rows", scatter_rows, [like((8,), I32), like((8, 256)), like((64, 256))], 0.0),
    ("gather_rows", gather_rows, [like((16,), I32), like((24, 384))], 0.0),
    (
        "bf16_pieces",
        bf16_pieces,
        [like((1,), I32), like((128, 256), BF16), like((64, 256), BF16)],
        0.0,
    ),
    ("many_arrays", many_arrays, [like((32, 128))] * 15, 1e-5),
    ("int16_wrap", int16_wrap, [like((32, 128), I16)] * 2, 0.0),
    ("uint4", uint4, [like((64, 128), jnp.uint4)], 0.0),
    ("int4_out", int4_out, [like((64, 128))], 0.0),
    ("fp8_blocks", fp8_blocks, [like((64, 512), FP8), like((256, 512), FP8), like((1, 256))], 2e-2),
    ("fp8_rows", fp8_rows, [like((32, 128))], 0.0),
    (
        "fp8_attention",
        fp8_attention,
        [like((32, 128), BF16), like((256, 128), FP8), like((256, 128), FP8)],
        2e-2,
    ),
    ("fp8_e5", fp8_e5, [like((32, 128))], 0.0),
    ("bf16_rows8", bf16_rows8, [like((40, 128), BF16)] * 2, 1e-2),
    ("bf16_heads8", bf16_heads8, [like((5, 8, 128), BF16)], 1e-2),
    (
        "sized_parts",
        sized_parts,
        [like((3,), I32), like((64, 512), BF16), like((1024,), I32)],
        0.0,
    ),
    ("bf16_dma8", bf16_dma8, [like((1,), I32), like((64, 128), BF16)], 0.0),
    (
        "paged_kv",
        paged_kv,
        [like((2,), I32), like((8, 16, 4, 128), BF16), like((4, 8, 128), BF16)],
        2e-2,
    ),
    ("masked_store", masked_store, [like((16, 128)), like((1,), I32)], 0.0),
    ("einsum3", einsum3, [like((3, 24, 128)), like((3, 40, 128))], 2e-2),
    ("matvec", matvec, [like((1, 256)), like((256, 384))], 2e-2),
    (
        "sums_of_products",
        sums_of_products,
        [like((32, 128), BF16)] + [like((128, 128), BF16)] * 3,
        3e-2,
    ),
    ("argsort_small", argsort_small, [like((8, 16))], 0.0),
    ("while_newton", while_newton, [like((16, 128))], 1e-4),
    ("smem_out", smem_out, [like((8, 256))], 1e-4),
    ("dynamic_lane", dynamic_lane, [like((1,), I32), like((16, 1024))], 0.0),
    ("clamp_grid", clamp_grid, [like((40, 128))], 0.0),
    ("core_parallel", core_parallel, [like((32, 256))], 1e-5),
    ("logsumexp2", logsumexp2, [like((40, 200))], 1e-5),
    ("stack_concat", stack_concat, [like((16, 128))] * 2, 0.0),
    ("split_halves", split_halves, [like((16, 256), BF16)], 2e-2),
    ("rms_bf16_add", rms_bf16_add, [like((24, 256), BF16)] * 2 + [like((1, 256), BF16)], 2e-2),
    ("one_row_blocks", one_row_blocks, [like((6, 1, 200))], 0.0),
    ("transposed_bf16", transposed_bf16, [like((48, 256), BF16)], 0.0),
    ("lane_gather", lane_gather, [like((16, 128)), like((16, 128), I32)], 0.0),
    ("iota_masks", iota_masks, [like((40, 200))], 0.0),
    ("batched_norm", batched_norm, [like((3, 20, 130))], 1e-5),
    ("pipeline_lines", pipeline_lines, [like((40, 256))], 0.0),
    ("hbm_to_hbm", hbm_to_hbm, [like((40, 256), BF16)], 0.0),
    ("run_scoped", run_scoped, [like((40, 256))], 0.0),
    ("heads_of", heads_of, [like((24, 3, 128), BF16)], 0.0),
    ("heads_of_int8", heads_of, [like((40, 2, 128), I8)], 0.0),
    ("head_products", head_products, [like((32, 4, 128), BF16), like((4, 8, 128), BF16)], 2e-2),
]

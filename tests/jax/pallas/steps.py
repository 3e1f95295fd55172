"""Kernels as people write them: blocks of words in SMEM, neighbours' rows, attention and its gradient
in steps, sorts, loops in loops, numbers that are none.

CASES lists (name, function, shapes of arguments, bound) as library.py does.
"""

import jax
import jax.numpy as jnp
from common import ANY, BF16, F32, I8, I32, SMEM, VMEM, call, like
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def smem_blocks(s, x):
    def kernel(s_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * s_ref[0, 0, 0]

    b = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return call(
        kernel,
        like(x.shape),
        grid=(4,),
        in_specs=[pl.BlockSpec((1, 1, 1), lambda i: (i, 0, 0), memory_space=pltpu.SMEM), b],
        out_specs=b,
    )(s, x)


def smem_rows(s, x):
    def kernel(s_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * s_ref[0, 2] + s_ref[0, 1]

    b = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return call(
        kernel,
        like(x.shape),
        grid=(4,),
        in_specs=[pl.BlockSpec((None, 1, 4), lambda i: (i, 0, 0), memory_space=pltpu.SMEM), b],
        out_specs=b,
    )(s, x)


def smem_results(x):
    def kernel(x_ref, o_ref):
        o_ref[0, 0, 0] = jnp.sum(x_ref[...])

    return call(
        kernel,
        like((4, 1, 1)),
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((1, 1, 1), lambda i: (i, 0, 0), memory_space=pltpu.SMEM),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(x)


def halo(x):
    """blocks with rows from before and behind, by clamped neighbours"""

    def kernel(a, b, c, o):
        up = jnp.concatenate([a[7:8, :], b[...], c[0:1, :]], axis=0)
        o[...] = up[0:8] + up[1:9] * 2 + up[2:10]

    n = x.shape[0] // 8
    s = lambda f: pl.BlockSpec((8, 128), f)
    return call(
        kernel,
        like(x.shape),
        grid=(n,),
        in_specs=[
            s(lambda i: (jnp.maximum(i - 1, 0), 0)),
            s(lambda i: (i, 0)),
            s(lambda i: (jnp.minimum(i + 1, n - 1), 0)),
        ],
        out_specs=s(lambda i: (i, 0)),
    )(x, x, x)


def flash_lse(q, k, v):
    """two key blocks, online, with the log of the sum, three grid dimensions"""

    def kernel(q_ref, k_ref, v_ref, o_ref, lse_ref, m, l, acc):
        j = pl.program_id(2)

        @pl.when(j == 0)
        def _():
            m[...] = jnp.full_like(m, -jnp.inf)
            l[...] = jnp.zeros_like(l)
            acc[...] = jnp.zeros_like(acc)

        s = jax.lax.dot_general(
            q_ref[0], k_ref[0], (((1,), (1,)), ((), ())), preferred_element_type=F32
        )
        mn = jnp.maximum(m[...], s.max(axis=1, keepdims=True))
        a = jnp.exp(m[...] - mn)
        p = jnp.exp(s - mn[:, :1])
        l[...] = a * l[...] + p.sum(axis=1, keepdims=True)
        acc[...] = acc[...] * a[:, :1] + jax.lax.dot(
            p.astype(v_ref.dtype), v_ref[0], preferred_element_type=F32
        )
        m[...] = mn

        @pl.when(j == pl.num_programs(2) - 1)
        def _():
            o_ref[0] = (acc[...] / l[:, :1]).astype(o_ref.dtype)
            lse_ref[0] = m[:, :1] + jnp.log(l[:, :1])

    h, n, d = q.shape
    kn = k.shape[1]
    qs = pl.BlockSpec((1, 64, d), lambda h, i, j: (h, i, 0))
    ks = pl.BlockSpec((1, 128, d), lambda h, i, j: (h, j, 0))
    return call(
        kernel,
        [like(q.shape, BF16), like((h, n, 1))],
        grid=(h, n // 64, kn // 128),
        in_specs=[qs, ks, ks],
        out_specs=[qs, pl.BlockSpec((1, 64, 1), lambda h, i, j: (h, i, 0))],
        scratch_shapes=[pltpu.VMEM((64, 128), F32)] * 2 + [pltpu.VMEM((64, d), F32)],
    )(q, k, v)


def flash_bwd_dkv(q, k, v, do, lse, delta):
    def kernel(q_ref, k_ref, v_ref, do_ref, lse_ref, d_ref, dk_ref, dv_ref, dk, dv):
        i = pl.program_id(1)

        @pl.when(i == 0)
        def _():
            dk[...] = jnp.zeros_like(dk)
            dv[...] = jnp.zeros_like(dv)

        s = jax.lax.dot_general(
            q_ref[...], k_ref[...], (((1,), (1,)), ((), ())), preferred_element_type=F32
        )
        p = jnp.exp(s * 0.1 - lse_ref[...])
        dv[...] += jax.lax.dot_general(
            p.astype(BF16), do_ref[...], (((0,), (0,)), ((), ())), preferred_element_type=F32
        )
        dp = jax.lax.dot_general(
            do_ref[...], v_ref[...], (((1,), (1,)), ((), ())), preferred_element_type=F32
        )
        ds = p * (dp - d_ref[...]) * 0.1
        dk[...] += jax.lax.dot_general(
            ds.astype(BF16), q_ref[...], (((0,), (0,)), ((), ())), preferred_element_type=F32
        )

        @pl.when(i == pl.num_programs(1) - 1)
        def _():
            dk_ref[...] = dk[...].astype(BF16)
            dv_ref[...] = dv[...].astype(BF16)

    n, d = q.shape
    qs = pl.BlockSpec((64, d), lambda j, i: (i, 0))
    ks = pl.BlockSpec((128, d), lambda j, i: (j, 0))
    o = pl.BlockSpec((64, 1), lambda j, i: (i, 0))
    return call(
        kernel,
        [like(k.shape, BF16)] * 2,
        grid=(k.shape[0] // 128, n // 64),
        in_specs=[qs, ks, ks, qs, o, o],
        out_specs=[ks, ks],
        scratch_shapes=[pltpu.VMEM((128, d), F32)] * 2,
    )(q, k, v, do, lse, delta)


def grouped_matmul(tile_group, x, w):
    def kernel(g_ref, x_ref, w_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], w_ref[...], preferred_element_type=F32).astype(BF16)

    n, d = x.shape
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(2, n // 32),
        in_specs=[
            pl.BlockSpec((32, d), lambda j, i, g: (i, 0)),
            pl.BlockSpec((None, d, 128), lambda j, i, g: (g[i], 0, j)),
        ],
        out_specs=pl.BlockSpec((32, 128), lambda j, i, g: (i, j)),
    )
    return call(kernel, like((n, 256), BF16), grid_spec=spec)(tile_group, x, w)


def topk_values(x):
    def kernel(x_ref, v_ref, i_ref):
        x = x_ref[...]
        lane = jax.lax.broadcasted_iota(I32, x.shape, 1)
        out = jax.lax.broadcasted_iota(I32, v_ref.shape, 1)

        def step(k, c):
            x, v, ix = c
            best = jnp.max(x, axis=1, keepdims=True)
            at = jnp.min(jnp.where(x == best, lane, 9999), axis=1, keepdims=True)
            v = jnp.where(out == k, best, v)
            ix = jnp.where(out == k, at, ix)
            return jnp.where(lane == at, -jnp.inf, x), v, ix

        _, v, ix = jax.lax.fori_loop(
            0, 8, step, (x, jnp.zeros(v_ref.shape, F32), jnp.zeros(i_ref.shape, I32))
        )
        v_ref[...] = v
        i_ref[...] = ix

    return call(kernel, [like((x.shape[0], 128)), like((x.shape[0], 128), I32)])(x)


def bitonic_rows(x):
    def kernel(x_ref, o_ref):
        x = x_ref[...]
        row = jax.lax.broadcasted_iota(I32, x.shape, 0)
        n = x.shape[0]
        k = 2
        while k <= n:
            j = k // 2
            while j >= 1:
                up = pltpu.roll(x, n - j, 0)
                down = pltpu.roll(x, j, 0)
                other = jnp.where(row & j == 0, up, down)
                asc = (row & k) == 0
                first = (row & j) == 0
                x = jnp.where(asc == first, jnp.minimum(x, other), jnp.maximum(x, other))
                j //= 2
            k *= 2
        o_ref[...] = x

    return call(kernel, like(x.shape))(x)


def int_reduce(x):
    def kernel(x_ref, o_ref, m_ref):
        o_ref[...] = jnp.sum(x_ref[...].astype(I32), axis=0, keepdims=True)
        m_ref[...] = jnp.max(x_ref[...].astype(I32), axis=1, keepdims=True)

    return call(kernel, [like((1, x.shape[1]), I32), like((x.shape[0], 1), I32)])(x)


def select_n(x, c):
    def kernel(x_ref, c_ref, o_ref):
        o_ref[...] = jax.lax.select(
            c_ref[...] > 2, x_ref[...], jnp.full(x_ref.shape, -1, x_ref.dtype)
        )

    return call(kernel, like(x.shape, x.dtype))(x, c)


def nested_loops(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)

        @pl.loop(0, 3)
        def _(i):
            @pl.loop(0, 2)
            def _(j):
                o_ref[pl.ds(i * 8, 8), pl.ds(j * 128, 128)] = x_ref[
                    pl.ds((2 - i) * 8, 8), pl.ds((1 - j) * 128, 128)
                ] * (i + 1).astype(F32)

    return call(kernel, like((24, 256)))(x)


def cond_vectors(f, x):
    def kernel(f_ref, x_ref, o_ref):
        y = jax.lax.cond(f_ref[0] > 3, lambda a: a * 2, lambda a: a - 1, x_ref[...])
        o_ref[...] = jnp.where(f_ref[1] > 3, y, -y)

    return call(kernel, like(x.shape), in_specs=[SMEM, VMEM])(f, x)


def softmax_cross_rows(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = jax.nn.softmax(x_ref[...], axis=0)

    return call(kernel, like(x.shape))(x)


def hadamard(x):
    def kernel(x_ref, o_ref):
        x = x_ref[...]
        lane = jax.lax.broadcasted_iota(I32, x.shape, 1)
        h = 1
        while h < 128:
            a = pltpu.roll(x, 128 - h, 1)
            b = pltpu.roll(x, h, 1)
            x = jnp.where(lane & h == 0, x + a, b - x)
            h *= 2
        o_ref[...] = x

    return call(kernel, like(x.shape))(x)


def outer_sum(x, y):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...][:, None] + y_ref[...][None, :]

    return call(kernel, like((x.shape[0], y.shape[0])))(x, y)


def vec_1d(x, y):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = jnp.maximum(x_ref[...], 0) * y_ref[...]

    b = pl.BlockSpec((1024,), lambda i: (i,))
    return call(kernel, like(x.shape), grid=(x.shape[0] // 1024,), in_specs=[b, b], out_specs=b)(
        x, y
    )


def rank4(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.sum(x_ref[...], axis=1) + x_ref[:, 0]

    b, c, h, w = x.shape
    return call(
        kernel,
        like((b, h, w)),
        grid=(b,),
        in_specs=[pl.BlockSpec((1, c, h, w), lambda i: (i, 0, 0, 0))],
        out_specs=pl.BlockSpec((1, h, w), lambda i: (i, 0, 0)),
    )(x)


def depthwise(x, w):
    def kernel(x_ref, w_ref, o_ref):
        acc = jnp.zeros(o_ref.shape, F32)
        for i in range(3):
            for j in range(3):
                acc += x_ref[i : i + 14, j : j + 14, :] * w_ref[i, j, :]
        o_ref[...] = acc

    return call(kernel, like((14, 14, 128)))(x, w)


def core_count(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + pl.program_id(0) * 10 + pl.num_programs(0)

    b = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return call(kernel, like(x.shape), grid=(2,), in_specs=[b], out_specs=b)(x)


def buffered_one(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    b = pl.BlockSpec((8, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(1))
    return call(
        kernel,
        like(x.shape),
        grid=(4,),
        in_specs=[b],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
    )(x)


def emit_acc(x):
    def kernel(x_hbm, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)

        def body(x_ref):
            o_ref[...] += jnp.sum(x_ref[...], axis=0, keepdims=True)

        pltpu.emit_pipeline(body, grid=(5,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))])(
            x_hbm
        )

    return call(kernel, like((1, 128)), in_specs=[ANY], out_specs=VMEM)(x)


def emit_bf16(x):
    def kernel(x_hbm, o_hbm):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2

        pltpu.emit_pipeline(
            body,
            grid=(5, 2),
            in_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j))],
            out_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j))],
        )(x_hbm, o_hbm)

    return call(kernel, like(x.shape, x.dtype), in_specs=[ANY], out_specs=ANY)(x)


def uint8s(x):
    def kernel(x_ref, o_ref, f_ref):
        x = x_ref[...]
        o_ref[...] = (x.astype(I32) * 2).astype(jnp.uint8)
        f_ref[...] = x.astype(I32).astype(F32) / 255.0

    return call(kernel, [like(x.shape, jnp.uint8), like(x.shape)])(x)


def bf16_compare(x, y):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = jnp.where(x_ref[...] > y_ref[...], x_ref[...], y_ref[...] * 2)

    return call(kernel, like(x.shape, BF16))(x, y)


def clamp_nan(x):
    def kernel(x_ref, o_ref):
        x = x_ref[...]
        y = jnp.where(x > 1, jnp.nan, x)
        o_ref[...] = jnp.nan_to_num(jnp.where(jnp.isnan(y), 5.0, y)) + jnp.isfinite(x).astype(F32)

    return call(kernel, like(x.shape))(x)


def dot_int8_scaled(x, w, s):
    def kernel(x_ref, w_ref, s_ref, o_ref, acc):
        k = pl.program_id(1)

        @pl.when(k == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)

        acc[...] += jnp.dot(x_ref[...], w_ref[...], preferred_element_type=I32)

        @pl.when(k == pl.num_programs(1) - 1)
        def _():
            o_ref[...] = acc[...].astype(F32) * s_ref[...]

    return call(
        kernel,
        like((64, 256)),
        grid=(2, 3),
        in_specs=[
            pl.BlockSpec((64, 128), lambda j, k: (0, k)),
            pl.BlockSpec((128, 128), lambda j, k: (k, j)),
            pl.BlockSpec((1, 128), lambda j, k: (0, j)),
        ],
        out_specs=pl.BlockSpec((64, 128), lambda j, k: (0, j)),
        scratch_shapes=[pltpu.VMEM((64, 128), I32)],
    )(x, w, s)


def odd_columns(x, w):
    """x w + x of 130 columns: arrays lie with the least padding at the entry, the kernel's do not."""
    def kernel(x_ref, w_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], w_ref[...]) + x_ref[...]

    rows, columns = x.shape
    block = pl.BlockSpec((512, columns), lambda i: (i, 0))
    return pl.pallas_call(kernel, jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(rows // 512,),
                          in_specs=[block, pl.BlockSpec(w.shape, lambda i: (0, 0))],
                          out_specs=block)(x, w)


def heads_turned(x):
    """Eight heads of bf16, which fill a TPU's tiles: what brings them in front of a kernel moves them."""
    batch, tokens, heads, depth = x.shape

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    block = pl.BlockSpec((1, 1, tokens, depth), lambda b, h: (b, h, 0, 0))
    return pl.pallas_call(kernel, jax.ShapeDtypeStruct((batch, heads, tokens, depth), x.dtype),
                          grid=(batch, heads), in_specs=[block],
                          out_specs=block)(jnp.swapaxes(x, 1, 2))


def wide_softmax(x):
    """A row of 50,257 elements, as a vocabulary has them."""
    def kernel(x_ref, o_ref):
        o_ref[...] = jax.nn.softmax(x_ref[...] * 0.3, axis=-1)

    b = pl.BlockSpec((8, x.shape[1]), lambda i: (i, 0))
    return call(
        kernel, like(x.shape), grid=(x.shape[0] // 8,), in_specs=[b], out_specs=b
    )(x)


def all_keys(q, k, v):
    """Attention whose scores of all keys stand in memory at once."""
    def kernel(q_ref, k_ref, v_ref, o_ref):
        s = jax.lax.dot_general(
            q_ref[...], k_ref[...], (((1,), (1,)), ((), ())), preferred_element_type=F32
        )
        p = jnp.exp(0.088 * (s - jnp.max(s, axis=1, keepdims=True)))
        out = jnp.dot(p.astype(BF16), v_ref[...], preferred_element_type=F32)
        o_ref[...] = (out / jnp.sum(p, axis=1, keepdims=True)).astype(BF16)

    return call(kernel, like(q.shape, BF16))(q, k, v)


ARGUMENTS = {"grouped_matmul": {0: [0, 2, 1, 2]}}
CASES = [
    ("smem_blocks", smem_blocks, [like((4, 1, 1)), like((32, 128))], 1e-6),
    ("smem_rows", smem_rows, [like((4, 1, 4)), like((32, 128))], 1e-6),
    ("smem_results", smem_results, [like((32, 128))], 1e-4),
    ("halo", halo, [like((40, 128))], 1e-5),
    (
        "flash_lse",
        flash_lse,
        [like((2, 128, 128), BF16), like((2, 256, 128), BF16), like((2, 256, 128), BF16)],
        2e-2,
    ),
    (
        "flash_bwd_dkv",
        flash_bwd_dkv,
        [
            like((128, 128), BF16),
            like((256, 128), BF16),
            like((256, 128), BF16),
            like((128, 128), BF16),
            like((128, 1)),
            like((128, 1)),
        ],
        3e-2,
    ),
    (
        "grouped_matmul",
        grouped_matmul,
        [like((4,), I32), like((128, 128), BF16), like((3, 128, 256), BF16)],
        2e-2,
    ),
    ("topk_values", topk_values, [like((16, 128))], 0.0),
    ("bitonic_rows", bitonic_rows, [like((32, 128))], 0.0),
    ("int_reduce", int_reduce, [like((64, 128), I8)], 0.0),
    ("select_n", select_n, [like((32, 128), BF16), like((32, 128), I32)], 0.0),
    ("nested_loops", nested_loops, [like((24, 256))], 0.0),
    ("cond_vectors", cond_vectors, [like((2,), I32), like((16, 128))], 0.0),
    ("softmax_cross_rows", softmax_cross_rows, [like((40, 128))], 1e-5),
    ("hadamard", hadamard, [like((16, 128))], 1e-5),
    ("outer_sum", outer_sum, [like((128,)), like((256,))], 1e-6),
    ("vec_1d", vec_1d, [like((4096,))] * 2, 0.0),
    ("rank4", rank4, [like((2, 3, 16, 128))], 1e-5),
    ("depthwise", depthwise, [like((16, 16, 128)), like((3, 3, 128))], 1e-5),
    ("core_count", core_count, [like((16, 128))], 1e-6),
    ("buffered_one", buffered_one, [like((32, 128))], 0.0),
    ("emit_acc", emit_acc, [like((40, 128))], 1e-5),
    ("emit_bf16", emit_bf16, [like((40, 256), BF16)], 0.0),
    ("uint8s", uint8s, [like((32, 128), jnp.uint8)], 1e-6),
    ("bf16_compare", bf16_compare, [like((32, 128), BF16)] * 2, 1e-2),
    ("clamp_nan", clamp_nan, [like((32, 128))], 1e-6),
    (
        "dot_int8_scaled",
        dot_int8_scaled,
        [like((64, 384), I8), like((384, 256), I8), like((1, 256))],
        1e-6,
    ),
    ("odd_columns", odd_columns, [like((4096, 130)), like((130, 130))], 2e-2),
    ("heads_turned", heads_turned, [like((2, 1024, 8, 128), BF16)], 0.0),
    ("heads_turned_four", heads_turned, [like((2, 1024, 4, 128), BF16)], 0.0),
    ("heads_turned_three", heads_turned, [like((2, 1024, 3, 128), BF16)], 0.0),
    ("wide_softmax", wide_softmax, [like((8, 50257))], 1e-5),
    ("all_keys", all_keys, [like((32, 128), BF16)] + [like((17408, 128), BF16)] * 2, 2e-2),
]

"""Kernels as people write them around models: routing, gathers, scans, losses, optimizers, sparse
blocks, pipelines inside of kernels, copies by hand, arithmetic.

CASES lists (name, function, shapes of arguments, bound) as library.py does.
"""

import jax
import jax.numpy as jnp
from common import ANY, BF16, F32, I8, I32, SMEM, VMEM, call, like
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


# routing, gathers, scans


def top_k_router(x):
    """The two best of 40 experts, their weights and their places."""

    def kernel(x_ref, w_ref, i_ref):
        x = x_ref[...]
        lane = jax.lax.broadcasted_iota(I32, x.shape, 1)
        p = jax.nn.softmax(x, axis=1)
        weights, places = [], []
        for _ in range(2):
            best = jnp.max(p, axis=1, keepdims=True)
            at = jnp.min(jnp.where(p == best, lane, 1000), axis=1, keepdims=True)
            weights.append(best)
            places.append(at)
            p = jnp.where(lane == at, -1.0, p)
        w = jnp.concatenate(weights, axis=1)
        w_ref[...] = w / jnp.sum(w, axis=1, keepdims=True)
        i_ref[...] = jnp.concatenate(places, axis=1)

    return call(kernel, [like((x.shape[0], 2)), like((x.shape[0], 2), I32)])(x)


def moe_gather(which, x, w):
    """Rows of tokens fetched one by one by a table, then a product."""
    n, d = which.shape[0], x.shape[1]

    def kernel(which_ref, x_hbm, w_ref, o_ref, rows, sem):
        i = pl.program_id(0)
        copies = [
            pltpu.make_async_copy(
                x_hbm.at[pl.ds(which_ref[i * 8 + r], 1), :], rows.at[pl.ds(r, 1), :], sem
            )
            for r in range(8)
        ]
        for c in copies:
            c.start()
        for c in copies:
            c.wait()
        o_ref[...] = jnp.dot(rows[...], w_ref[...], preferred_element_type=F32)

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(n // 8,),
        in_specs=[ANY, pl.BlockSpec(w.shape, lambda i, which: (0, 0))],
        out_specs=pl.BlockSpec((8, w.shape[1]), lambda i, which: (i, 0)),
        scratch_shapes=[pltpu.VMEM((8, d), F32), pltpu.SemaphoreType.DMA],
    )
    return call(kernel, like((n, w.shape[1])), grid_spec=spec)(which, x, w)


def embedding(ids, table):
    """A row of a table for each step of the grid."""

    def kernel(ids_ref, row_ref, o_ref):
        o_ref[...] = row_ref[...] * 2.0

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(ids.shape[0],),
        in_specs=[pl.BlockSpec((pl.Squeezed(), 1, table.shape[2]), lambda i, ids: (ids[i], 0, 0))],
        out_specs=pl.BlockSpec((pl.Squeezed(), 1, table.shape[2]), lambda i, ids: (i, 0, 0)),
    )
    return call(kernel, like((ids.shape[0], 1, table.shape[2])), grid_spec=spec)(ids, table)


def cumsum_blocks(x):
    """Sums along rows by a triangular product, the carry in scratch."""

    def kernel(x_ref, o_ref, carry_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            carry_ref[...] = jnp.zeros_like(carry_ref)

        n = x_ref.shape[0]
        r = jax.lax.broadcasted_iota(I32, (n, n), 0)
        c = jax.lax.broadcasted_iota(I32, (n, n), 1)
        low = (r >= c).astype(F32)
        o = jnp.dot(low, x_ref[...], precision=jax.lax.Precision.HIGHEST) + carry_ref[...]
        o_ref[...] = o
        carry_ref[...] = o[n - 1 : n, :]

    block = pl.BlockSpec((32, 128), lambda i: (i, 0))
    return call(
        kernel,
        like(x.shape),
        grid=(x.shape[0] // 32,),
        in_specs=[block],
        out_specs=block,
        scratch_shapes=[pltpu.VMEM((1, 128), F32)],
    )(x)


def recurrence(a, x):
    """h = a h + x, row by row, unrolled by eight."""

    def kernel(a_ref, x_ref, o_ref, h_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            h_ref[...] = jnp.zeros_like(h_ref)

        def body(i, h):
            h = a_ref[pl.ds(i, 1), :] * h + x_ref[pl.ds(i, 1), :]
            o_ref[pl.ds(i, 1), :] = h
            return h

        h_ref[...] = jax.lax.fori_loop(0, a_ref.shape[0], body, h_ref[...], unroll=8)

    block = pl.BlockSpec((16, 256), lambda i: (i, 0))
    return call(
        kernel,
        like(x.shape),
        grid=(x.shape[0] // 16,),
        in_specs=[block, block],
        out_specs=block,
        scratch_shapes=[pltpu.VMEM((1, 256), F32)],
    )(a, x)


def conv1d_causal(x, w, b):
    """Four taps, the rows before kept from block to block, silu."""

    def kernel(x_ref, w_ref, b_ref, o_ref, tail_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            tail_ref[...] = jnp.zeros_like(tail_ref)

        x = jnp.concatenate([tail_ref[...], x_ref[0]], axis=0)
        n = x_ref.shape[1]
        y = b_ref[...]
        for t in range(4):
            y = y + x[5 + t : 5 + t + n, :] * w_ref[t : t + 1, :]
        o_ref[0] = y * jax.nn.sigmoid(y)
        tail_ref[...] = x_ref[0, n - 8 :, :]

    b_, n, d = x.shape
    part = pl.BlockSpec((1, 32, d), lambda i, j: (i, j, 0))
    return call(
        kernel,
        like(x.shape),
        grid=(b_, n // 32),
        in_specs=[
            part,
            pl.BlockSpec((4, d), lambda i, j: (0, 0)),
            pl.BlockSpec((1, d), lambda i, j: (0, 0)),
        ],
        out_specs=part,
        scratch_shapes=[pltpu.VMEM((8, d), F32)],
    )(x, w, b)


def loss(x, labels):
    """Cross entropy over blocks of the vocabulary."""

    def kernel(x_ref, y_ref, o_ref, m_ref, l_ref, t_ref):
        j = pl.program_id(1)

        @pl.when(j == 0)
        def _():
            m_ref[...] = jnp.full_like(m_ref, -jnp.inf)
            l_ref[...] = jnp.zeros_like(l_ref)
            t_ref[...] = jnp.zeros_like(t_ref)

        x = x_ref[...].astype(F32)
        at = j * 256 + jax.lax.broadcasted_iota(I32, x.shape, 1)
        x = jnp.where(at < 1000, x, -1e30)
        m = jnp.maximum(m_ref[...], jnp.max(x, 1, keepdims=True))
        l_ref[...] = l_ref[...] * jnp.exp(m_ref[...] - m) + jnp.sum(
            jnp.exp(x - m), 1, keepdims=True
        )
        m_ref[...] = m
        t_ref[...] += jnp.sum(jnp.where(at == y_ref[...], x, 0.0), 1, keepdims=True)

        @pl.when(j == pl.num_programs(1) - 1)
        def _():
            o_ref[...] = m_ref[...] + jnp.log(l_ref[...]) - t_ref[...]

    n, v = x.shape
    one = pl.BlockSpec((16, 1), lambda i, j: (i, 0))
    return call(
        kernel,
        like((n, 1)),
        grid=(n // 16, pl.cdiv(v, 256)),
        in_specs=[pl.BlockSpec((16, 256), lambda i, j: (i, j)), one],
        out_specs=one,
        scratch_shapes=[pltpu.VMEM((16, 1), F32)] * 3,
    )(x, labels)


# pipelines, copies, memory


def pipeline_product(x, y):
    """emit_pipeline with a grid of three and an accumulator outside."""

    def kernel(x_hbm, y_hbm, o_hbm, acc_ref):
        def body(x_ref, y_ref, o_ref):
            k = pl.program_id(2)

            @pl.when(k == 0)
            def _():
                acc_ref[...] = jnp.zeros_like(acc_ref)

            acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F32)

            @pl.when(k == 1)
            def _():
                o_ref[...] = acc_ref[...].astype(o_ref.dtype)

        pltpu.emit_pipeline(
            body,
            grid=(2, 2, 2),
            in_specs=[
                pl.BlockSpec((64, 128), lambda i, j, k: (i, k)),
                pl.BlockSpec((128, 128), lambda i, j, k: (k, j), pipeline_mode=pl.Buffered(3)),
            ],
            out_specs=[pl.BlockSpec((64, 128), lambda i, j, k: (i, j))],
        )(x_hbm, y_hbm, o_hbm)

    return call(
        kernel,
        like((128, 256), BF16),
        in_specs=[ANY, ANY],
        out_specs=ANY,
        scratch_shapes=[pltpu.VMEM((64, 128), F32)],
    )(x, y)


def double_buffer(x):
    """Copies by hand, the next one under way; sums of all chunks."""

    def kernel(x_hbm, o_ref, buf, sems):
        n = x_hbm.shape[0] // 32

        def get(i, slot):
            return pltpu.make_async_copy(
                x_hbm.at[pl.ds(i * 32, 32), :], buf.at[slot], sems.at[slot]
            )

        get(0, 0).start()

        def body(i, acc):
            slot = i % 2

            @pl.when(i + 1 < n)
            def _():
                get(i + 1, (i + 1) % 2).start()

            get(i, slot).wait()
            return acc + jnp.sum(buf[slot].reshape(4, 8, -1), axis=0)

        o_ref[...] = jax.lax.fori_loop(0, n, body, jnp.zeros(o_ref.shape, F32))

    return call(
        kernel,
        like((8, 128)),
        in_specs=[ANY],
        out_specs=VMEM,
        scratch_shapes=[pltpu.VMEM((2, 32, 128), F32), pltpu.SemaphoreType.DMA((2,))],
    )(x)


def cache_update(at, new, cache):
    """A row written into a large array in place, by a copy out of VMEM."""

    def kernel(at_ref, new_ref, cache_in, cache_ref, sem):
        copy = pltpu.make_async_copy(new_ref, cache_ref.at[pl.ds(at_ref[0] * 8, 8), :], sem)
        copy.start()
        copy.wait()

    return call(
        kernel,
        like(cache.shape, cache.dtype),
        in_specs=[SMEM, VMEM, ANY],
        out_specs=ANY,
        input_output_aliases={2: 0},
        scratch_shapes=[pltpu.SemaphoreType.DMA],
    )(at, new, cache)


def adam(p, g, m, v, rate):
    """Three arrays in place, a rate in SMEM."""

    def kernel(p_ref, g_ref, m_ref, v_ref, rate_ref, po_ref, mo_ref, vo_ref):
        g = g_ref[...]
        m = 0.9 * m_ref[...] + 0.1 * g
        v = 0.999 * v_ref[...] + 0.001 * g * g
        po_ref[...] = p_ref[...] - rate_ref[0] * m / (jnp.sqrt(v) + 1e-8)
        mo_ref[...] = m
        vo_ref[...] = v

    block = pl.BlockSpec((16, 128), lambda i: (i, 0))
    return call(
        kernel,
        [like(p.shape)] * 3,
        grid=(p.shape[0] // 16,),
        in_specs=[block] * 4 + [SMEM],
        out_specs=[block] * 3,
        input_output_aliases={0: 0, 2: 1, 3: 2},
    )(p, g, m, jnp.abs(v), rate)


def block_sparse(first, columns, values, x):
    """Blocks of a sparse matrix by rows, a loop whose length a table says."""
    rows = first.shape[0] - 1

    def kernel(first_ref, columns_ref, values_ref, x_ref, o_ref):
        i = pl.program_id(0)

        def body(j, acc):
            at = pl.multiple_of(columns_ref[j] * 128, 128)
            return acc + jnp.dot(
                values_ref[j], x_ref[pl.ds(at, 128), :], preferred_element_type=F32
            )

        o_ref[...] = jax.lax.fori_loop(
            first_ref[i], first_ref[i + 1], body, jnp.zeros(o_ref.shape, F32)
        )

    return call(
        kernel,
        like((rows * 128, x.shape[1])),
        grid=(rows,),
        in_specs=[SMEM, SMEM, VMEM, VMEM],
        out_specs=pl.BlockSpec((128, x.shape[1]), lambda i: (i, 0)),
    )(first, columns, values, x)


def transposes(x):
    def kernel(x_ref, o_ref, t_ref):
        x = x_ref[...]
        o_ref[...] = jnp.swapaxes(x, 0, 1)
        t_ref[...] = jnp.transpose(x, (0, 2, 1))

    a, b, c = x.shape
    return call(kernel, [like((b, a, c)), like((a, c, b))])(x)


def strided_rows(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(0, 16, stride=4), :] + x_ref[pl.ds(1, 16, stride=4), :]

    return call(kernel, like((16, x.shape[1])))(x)


def strided_store(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)
        o_ref[pl.ds(0, 16, stride=2), :] = x_ref[...]

    return call(kernel, like((32, x.shape[1])))(x)


def mixed_dtypes(x, y, flag):
    def kernel(x_ref, y_ref, f_ref, o_ref, n_ref):
        x, y = x_ref[...].astype(F32), y_ref[...].astype(F32)
        keep = f_ref[...] > 3
        o_ref[...] = jnp.where(keep, x, y).astype(BF16)
        n_ref[0, 0] = jnp.sum(keep.astype(I32))

    return call(kernel, [like(x.shape, BF16), like((1, 1), I32)], out_specs=[VMEM, SMEM])(
        x, y, flag
    )


def bools(x):
    def kernel(x_ref, o_ref, any_ref):
        good = (x_ref[...] > 0.5) | (x_ref[...] < -1.0)
        o_ref[...] = good.astype(I8)
        any_ref[...] = jnp.broadcast_to(
            jnp.any(good, axis=1, keepdims=True).astype(I32), any_ref.shape
        )

    return call(kernel, [like(x.shape, I8), like((x.shape[0], 128), I32)])(x)


def early_out(limits, x):
    """A loop that ends when a scalar says so, branches by lax.cond and switch."""

    def kernel(l_ref, x_ref, o_ref):
        def go(carry):
            i, s = carry
            return (i < l_ref[0]) & (s < 20)

        def step(carry):
            i, s = carry
            o_ref[pl.ds(i, 1), :] = x_ref[pl.ds(i, 1), :] * s.astype(F32)
            return i + 1, s + jax.lax.switch(i % 3, [lambda: 1, lambda: 3, lambda: 5])

        o_ref[...] = jnp.zeros_like(o_ref)
        jax.lax.while_loop(go, step, (0, 1))

    return call(kernel, like(x.shape), in_specs=[SMEM, VMEM])(limits, x)


def running_max(x):
    def kernel(x_ref, o_ref, best_ref, at_ref):
        x = x_ref[...]
        best_ref[...] = jnp.max(x, axis=0, keepdims=True)
        at_ref[...] = jnp.argmax(x, axis=0, keepdims=True).astype(I32)
        o_ref[...] = x - jnp.min(x, axis=0)[None, :]

    n, d = x.shape
    return call(kernel, [like(x.shape), like((1, d)), like((1, d), I32)])(x)


def ssm_step(a, b, x):
    """Outer products and a state of three dimensions."""

    def kernel(a_ref, b_ref, x_ref, o_ref, h_ref):
        h_ref[...] = jnp.zeros_like(h_ref)

        def body(t, _):
            h = h_ref[...] * a_ref[t][None, :] + b_ref[t][:, None] * x_ref[t][None, :]
            h_ref[...] = h
            o_ref[t, :] = jnp.sum(h, axis=0)
            return 0

        jax.lax.fori_loop(0, a_ref.shape[0], body, 0)

    return call(kernel, like(x.shape), scratch_shapes=[pltpu.VMEM((16, 128), F32)])(a, b, x)


def group_sums(x):
    """Reshapes of the rows, means and variances of groups of channels."""

    def kernel(x_ref, o_ref):
        x = x_ref[...]
        g = x.reshape(4, 16, 128)
        mean = jnp.mean(g, axis=(1, 2), keepdims=True)
        var = jnp.mean((g - mean) ** 2, axis=(1, 2), keepdims=True)
        o_ref[...] = ((g - mean) * jax.lax.rsqrt(var + 1e-5)).reshape(64, 128)

    return call(kernel, like(x.shape))(x)


def dropout(seed, x):
    """Only what is kept is compared: scaled or zero."""

    def kernel(seed_ref, x_ref, o_ref):
        pltpu.prng_seed(seed_ref[0] + pl.program_id(0))
        bits = pltpu.bitcast(pltpu.prng_random_bits(x_ref.shape), jnp.uint32)
        keep = bits >= jnp.uint32(0)
        o_ref[...] = jnp.where(keep, x_ref[...] / 0.5, 0.0)

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return call(
        kernel, like(x.shape), grid=(x.shape[0] // 8,), in_specs=[SMEM, block], out_specs=block
    )(seed, x)


def debug_prints(x):
    def kernel(x_ref, o_ref):
        i = pl.program_id(0)
        pl.debug_print("step {}", i)
        o_ref[...] = x_ref[...] + i.astype(F32)

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return call(kernel, like(x.shape), grid=(2,), in_specs=[block], out_specs=block)(x)


def three_d_product(x, y):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = jax.lax.dot_general(
            x_ref[...], y_ref[...], (((2,), (1,)), ((0,), (0,))), preferred_element_type=F32
        )

    return call(kernel, like((x.shape[0], x.shape[1], y.shape[2])))(x, y)


def odd_product(x, y):
    """Sizes that nothing divides."""

    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F32)

    return call(kernel, like((x.shape[0], y.shape[1])))(x, y)


def polynomial(x):
    def kernel(x_ref, o_ref):
        x = x_ref[...]
        y = jnp.sin(x) + jnp.cos(2 * x) + jnp.log1p(jnp.abs(x)) + jnp.exp(x * 0.1)
        y = y + jax.lax.erf(x) + jnp.power(jnp.abs(x) + 1, 1.5) + jnp.floor(x) - jnp.ceil(x)
        o_ref[...] = y + jnp.sign(x) * jnp.exp2(x * 0.3) + jnp.arctan2(x, 2.0) * 0 + x // 2

    return call(kernel, like(x.shape))(x)


def integers(x, y):
    def kernel(x_ref, y_ref, o_ref):
        x, y = x_ref[...], y_ref[...] + 1
        z = (x // y) + (x % y) * 3 ^ (x << 2) | (y & 7)
        o_ref[...] = (
            jnp.minimum(jnp.maximum(z, -5), 1000) + jax.lax.population_count(x) + jax.lax.clz(y)
        )

    return call(kernel, like(x.shape, I32))(x, y)


ARGUMENTS = {
    "block_sparse": {0: [0, 2, 2, 5], 1: [1, 0, 2, 0, 1]},
}
CASES = [
    ("top_k_router", top_k_router, [like((24, 40))], 1e-5),
    ("moe_gather", moe_gather, [like((16,), I32), like((24, 128)), like((128, 256))], 2e-2),
    ("embedding", embedding, [like((6,), I32), like((10, 1, 256))], 0.0),
    ("cumsum_blocks", cumsum_blocks, [like((96, 128))], 1e-5),
    ("recurrence", recurrence, [like((48, 256))] * 2, 1e-4),
    ("conv1d_causal", conv1d_causal, [like((2, 96, 128)), like((4, 128)), like((1, 128))], 1e-5),
    ("loss", loss, [like((32, 1000), BF16), like((32, 1), I32)], 1e-4),
    ("pipeline_product", pipeline_product, [like((128, 256), BF16), like((256, 256), BF16)], 2e-2),
    ("double_buffer", double_buffer, [like((160, 128))], 1e-5),
    (
        "cache_update",
        cache_update,
        [like((1,), I32), like((8, 128), BF16), like((64, 128), BF16)],
        0.0,
    ),
    ("adam", adam, [like((48, 128))] * 4 + [like((1,))], 1e-5),
    (
        "block_sparse",
        block_sparse,
        [like((4,), I32), like((5,), I32), like((5, 128, 128), BF16), like((384, 128), BF16)],
        2e-2,
    ),
    ("transposes", transposes, [like((3, 16, 128))], 0.0),
    ("strided_rows", strided_rows, [like((64, 256))], 0.0),
    ("strided_store", strided_store, [like((16, 256))], 0.0),
    (
        "mixed_dtypes",
        mixed_dtypes,
        [like((32, 128), BF16), like((32, 128)), like((32, 128), I8)],
        0.0,
    ),
    ("bools", bools, [like((32, 128))], 0.0),
    ("early_out", early_out, [like((1,), I32), like((16, 128))], 0.0),
    ("running_max", running_max, [like((40, 256))], 0.0),
    ("ssm_step", ssm_step, [like((12, 128)), like((12, 16)), like((12, 128))], 1e-5),
    ("group_sums", group_sums, [like((64, 128))], 1e-5),
    ("dropout", dropout, [like((1,), I32), like((16, 128))], 0.0),
    ("debug_prints", debug_prints, [like((16, 128))], 0.0),
    ("three_d_product", three_d_product, [like((3, 24, 64), BF16), like((3, 64, 128), BF16)], 2e-2),
    ("odd_product", odd_product, [like((37, 75)), like((75, 93))], 2e-2),
    ("polynomial", polynomial, [like((24, 200))], 1e-4),
    ("integers", integers, [like((24, 200), I32)] * 2, 0.0),
]

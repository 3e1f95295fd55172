"""Kernels that go through a sequence: states of Mamba, RWKV and delta rules, running sums, decoding over
pages with scales, counts of columns, attention whose values are a part of its keys.

CASES lists (name, function, shapes of arguments, bound) as library.py does.
"""

import jax
import jax.numpy as jnp
import numpy as np
from common import ANY, BF16, F32, I8, I32, call, like
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

IN_ORDER = pltpu.CompilerParams(dimension_semantics=("arbitrary",))


def dot(a, b, dims=((1,), (0,))):
    return lax.dot_general(a, b, (dims, ((), ())), preferred_element_type=F32)


def rows(count, width):
    return pl.BlockSpec((count, width), lambda i: (i, 0))


def all_rows(count, width):
    return pl.BlockSpec((count, width), lambda i: (0, 0))


def selective_scan(x, dt, b, c, a):
    """Mamba: 16 states of each channel, whose inputs and outputs are rows that become columns."""
    def kernel(x_ref, dt_ref, b_ref, c_ref, a_ref, o_ref, h_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            h_ref[...] = jnp.zeros_like(h_ref)
        a = -jnp.exp(a_ref[...])

        def step(t, h):
            here = pl.ds(t, 1)
            d, now = jax.nn.softplus(dt_ref[here, :]), x_ref[here, :]
            h = jnp.exp(d * a) * h + (d * now) * b_ref[t, :].reshape(16, 1)
            o_ref[here, :] = (h * c_ref[t, :].reshape(16, 1)).sum(0, keepdims=True)
            return h
        h_ref[...] = lax.fori_loop(0, 32, step, h_ref[...])
    return call(kernel, like(x.shape), grid=(2,),
                in_specs=[rows(32, 128), rows(32, 128), rows(32, 16), rows(32, 16), all_rows(16, 128)],
                out_specs=rows(32, 128), scratch_shapes=[pltpu.VMEM((16, 128), F32)],
                compiler_params=IN_ORDER)(x, dt, b, c, a)


def delta_rule(q, k, v, gate, beta):
    """A state of 128 by 128 that forgets by one number and learns by another."""
    def kernel(q_ref, k_ref, v_ref, g_ref, b_ref, o_ref, s_ref):
        s_ref[...] = jnp.zeros_like(s_ref)

        def step(t, _):
            here = pl.ds(t, 1)
            k, v = k_ref[here, :], v_ref[here, :]
            k = k * lax.rsqrt((k * k).sum(-1, keepdims=True) + 1e-6)
            forget, learn = jax.nn.sigmoid(g_ref[here, :]), jax.nn.sigmoid(b_ref[here, :])
            column = k.reshape(128, 1)
            s = s_ref[...] * forget
            s = s + column * ((v - (s * column).sum(0, keepdims=True)) * learn)
            s_ref[...] = s
            o_ref[here, :] = (s * q_ref[here, :].reshape(128, 1)).sum(0, keepdims=True)
            return 0
        lax.fori_loop(0, q_ref.shape[0], step, 0)
    return call(kernel, like(q.shape),
                scratch_shapes=[pltpu.VMEM((128, 128), F32)])(q, k, v, gate, beta)


def delta_chunks(q, k, v, beta):
    """The same by chunks of 64 positions, whose inverse comes by doubling."""
    def kernel(q_ref, k_ref, v_ref, b_ref, o_ref, s_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            s_ref[...] = jnp.zeros_like(s_ref)
        row = lax.broadcasted_iota(I32, (64, 64), 0)
        column = lax.broadcasted_iota(I32, (64, 64), 1)
        k, q, b = k_ref[...], q_ref[...] * 0.088, jax.nn.sigmoid(b_ref[...])
        k = k * lax.rsqrt((k * k).sum(-1, keepdims=True) + 1e-6)
        power = jnp.where(row > column, -dot(k * b, k, ((1,), (1,))), 0.0)
        inverse = jnp.where(row == column, 1.0, 0.0) + power
        for _ in range(5):
            power = dot(power, power)
            inverse = inverse + dot(inverse, power)
        u = dot(inverse, v_ref[...] * b) - dot(dot(inverse, k * b), s_ref[...])
        scores = jnp.where(row >= column, dot(q, k, ((1,), (1,))), 0.0)
        o_ref[...] = dot(q, s_ref[...]) + dot(scores, u)
        s_ref[...] += dot(k, u, ((0,), (0,)))
    return call(kernel, like(q.shape), grid=(q.shape[0] // 64,),
                in_specs=[rows(64, 128), rows(64, 128), rows(64, 128), rows(64, 1)],
                out_specs=rows(64, 128), scratch_shapes=[pltpu.VMEM((128, 128), F32)],
                compiler_params=IN_ORDER)(q, k, v, beta)


def decays_unrolled(r, k, v, w, u):
    """RWKV: 16 steps of a state follow each other in the code, each of the one before."""
    def kernel(r_ref, k_ref, v_ref, w_ref, u_ref, o_ref, s_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            s_ref[...] = jnp.zeros_like(s_ref)
        s = s_ref[...]
        k, r, u = k_ref[...].T, r_ref[...].T, u_ref[...].T
        w = jnp.exp(-jnp.exp(w_ref[...])).T
        out = []
        for t in range(16):
            kv = k[:, t:t + 1] * v_ref[t:t + 1, :]
            out.append((r[:, t:t + 1] * (s + u * kv)).sum(0, keepdims=True))
            s = w[:, t:t + 1] * s + kv
        o_ref[...] = jnp.concatenate(out, 0)
        s_ref[...] = s
    return call(kernel, like(r.shape), grid=(r.shape[0] // 16,),
                in_specs=[rows(16, 128)] * 4 + [all_rows(1, 128)], out_specs=rows(16, 128),
                scratch_shapes=[pltpu.VMEM((128, 128), F32)],
                compiler_params=IN_ORDER)(r, k, v, w, u)


def columns_counted(x):
    """A histogram: each row of numbers becomes a column that is compared with all bins."""
    def kernel(x_ref, o_ref):
        bins = lax.broadcasted_iota(I32, (512, 128), 1)
        total = jnp.zeros((1, 128), F32)
        for r in range(8):
            total += (x_ref[r, :][:, None] == bins).astype(F32).sum(0, keepdims=True)
        o_ref[0] = total
    return call(kernel, like((x.shape[0] // 8, 1, 128)), grid=(x.shape[0] // 8,),
                in_specs=[rows(8, 512)], out_specs=pl.BlockSpec((1, 1, 128), lambda i: (i, 0, 0)))(x)


def pages_with_scales(tables, lengths, q, kv, scale):
    """Decoding over pages of int8, each position of which has a scale."""
    def kernel(table_ref, length_ref, q_ref, kv_hbm, scale_hbm, o_ref, kv_ref, scale_ref, sem):
        b = pl.program_id(0)
        count = pl.cdiv(length_ref[b], 16)

        def copies(i):
            page, slot = table_ref[b, i], i % 2
            return (pltpu.make_async_copy(kv_hbm.at[page], kv_ref.at[slot], sem.at[0, slot]),
                    pltpu.make_async_copy(scale_hbm.at[page], scale_ref.at[slot], sem.at[1, slot]))
        for c in copies(0):
            c.start()

        def page(i, carry):
            m, l, acc = carry

            @pl.when(i + 1 < count)
            def _():
                for c in copies(i + 1):
                    c.start()
            for c in copies(i):
                c.wait()
            k, v = ((kv_ref[i % 2, n].astype(F32) * scale_ref[i % 2, n]).astype(BF16) for n in (0, 1))
            s = dot(q_ref[0], k, ((1,), (1,))) * 0.088
            s = jnp.where(i * 16 + lax.broadcasted_iota(I32, s.shape, 1) < length_ref[b], s, -1e30)
            now = jnp.maximum(m, s.max(-1, keepdims=True))
            p, before = jnp.exp(s - now), jnp.exp(m - now)
            return now, before * l + p.sum(-1, keepdims=True), acc * before + dot(p.astype(BF16), v)
        start = jnp.full((8, 1), -1e30), jnp.zeros((8, 1)), jnp.zeros((8, 128))
        _, l, acc = lax.fori_loop(0, count, page, start)
        o_ref[0] = (acc / l).astype(BF16)
    block = pl.BlockSpec((1, 8, 128), lambda b, *_: (b, 0, 0))
    return call(kernel, like(q.shape, BF16), grid_spec=pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=2, grid=(q.shape[0],), in_specs=[block, ANY, ANY], out_specs=block,
        scratch_shapes=[pltpu.VMEM((2, 2, 16, 128), I8), pltpu.VMEM((2, 2, 16, 1), F32),
                        pltpu.SemaphoreType.DMA((2, 2))]))(tables, lengths, q, kv, scale)


def latent_attention(q, kv):
    """Keys of 512 latent and 64 rotated elements, values the latent ones."""
    def kernel(q_ref, kv_ref, o_ref, m_ref, l_ref, acc_ref):
        j = pl.program_id(1)

        @pl.when(j == 0)
        def _():
            m_ref[...] = jnp.full_like(m_ref, -1e30)
            l_ref[...] = jnp.zeros_like(l_ref)
            acc_ref[...] = jnp.zeros_like(acc_ref)
        kv = kv_ref[...]
        s = dot(q_ref[0], kv, ((1,), (1,))) * 576 ** -0.5
        m = jnp.maximum(m_ref[...], s.max(-1, keepdims=True))
        p, before = jnp.exp(s - m), jnp.exp(m_ref[...] - m)
        l_ref[...] = before * l_ref[...] + p.sum(-1, keepdims=True)
        acc_ref[...] = acc_ref[...] * before + dot(p.astype(BF16), kv[:, :512])
        m_ref[...] = m

        @pl.when(j == pl.num_programs(1) - 1)
        def _():
            o_ref[0] = (acc_ref[...] / l_ref[...]).astype(BF16)
    return call(kernel, like((*q.shape[:2], 512), BF16), grid=(q.shape[0], kv.shape[0] // 128),
                in_specs=[pl.BlockSpec((1, 128, 576), lambda h, j: (h, 0, 0)),
                          pl.BlockSpec((128, 576), lambda h, j: (j, 0))],
                out_specs=pl.BlockSpec((1, 128, 512), lambda h, j: (h, 0, 0)),
                scratch_shapes=[pltpu.VMEM((128, 1), F32)] * 2 + [pltpu.VMEM((128, 512), F32)])(q, kv)


def best_eight(x):
    """Maxima and where they are, one after the other."""
    def kernel(x_ref, v_ref, i_ref):
        x = x_ref[...]
        lane = lax.broadcasted_iota(I32, x.shape, 1)
        place = lax.broadcasted_iota(I32, v_ref.shape, 1)
        values, indices = jnp.zeros(v_ref.shape), jnp.zeros(i_ref.shape, I32)
        for k in range(8):
            index = jnp.argmax(x, axis=-1)[:, None].astype(I32)
            values = jnp.where(place == k, x.max(-1, keepdims=True), values)
            indices = jnp.where(place == k, index, indices)
            x = jnp.where(lane == index, -jnp.inf, x)
        v_ref[...] = values
        i_ref[...] = indices
    return call(kernel, [like((x.shape[0], 128)), like((x.shape[0], 128), I32)],
                grid=(x.shape[0] // 64,), in_specs=[rows(64, x.shape[1])],
                out_specs=[rows(64, 128)] * 2)(x)


def wide_norm(x, g):
    """A root mean square of rows of 4,096, which registers do not hold until it is known."""
    def kernel(x_ref, g_ref, o_ref):
        x = x_ref[...].astype(F32)
        scale = lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)
        o_ref[...] = (x * scale * g_ref[...]).astype(BF16)
    return call(kernel, like(x.shape, BF16), grid=(2,), in_specs=[rows(128, 4096), all_rows(1, 4096)],
                out_specs=rows(128, 4096))(x, g)


def wide_norm_gradient(x, g, dy):
    """Its gradients, with rows of both that are read again behind two sums."""
    def kernel(x_ref, g_ref, dy_ref, dx_ref, dg_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            dg_ref[...] = jnp.zeros_like(dg_ref)
        x, dy = x_ref[...].astype(F32), dy_ref[...].astype(F32)
        scale = lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)
        unit, d = x * scale, dy * g_ref[...]
        dg_ref[...] += (dy * unit).sum(0, keepdims=True)
        dx_ref[...] = (scale * (d - unit * (d * unit).mean(-1, keepdims=True))).astype(BF16)
    return call(kernel, (like(x.shape, BF16), like(g.shape)), grid=(2,),
                in_specs=[rows(64, 2048), all_rows(1, 2048), rows(64, 2048)],
                out_specs=[rows(64, 2048), all_rows(1, 2048)], compiler_params=IN_ORDER)(x, g, dy)


def taps_and_gate(x, w, b):
    """Mamba's convolution along time: four taps, the last rows of a block kept for the next."""
    def kernel(x_ref, w_ref, b_ref, o_ref, last_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            last_ref[...] = jnp.zeros_like(last_ref)
        x = x_ref[...].astype(F32)
        full = jnp.concatenate([last_ref[...], x], 0)
        y = b_ref[...] + sum(w_ref[k:k + 1, :] * full[5 + k:133 + k] for k in range(4))
        o_ref[...] = (y * jax.nn.sigmoid(y)).astype(BF16)
        last_ref[...] = x[120:, :]
    return call(kernel, like(x.shape, BF16), grid=(x.shape[0] // 128,),
                in_specs=[rows(128, 256), all_rows(4, 256), all_rows(1, 256)],
                out_specs=rows(128, 256), scratch_shapes=[pltpu.VMEM((8, 256), F32)],
                compiler_params=IN_ORDER)(x, w, b)


def ragged_pipeline(offsets, x):
    """Blocks of as many rows as a table says, in a pipeline of the kernel's own."""
    def kernel(offset_ref, x_hbm, y_hbm):
        def body(x_ref, y_ref):
            y_ref[...] = x_ref[...] * 2.0 + 1.0
        spec = pl.BlockSpec(
            (pl.BoundedSlice(32), 128),
            lambda i: (pl.ds(offset_ref[i], offset_ref[i + 1] - offset_ref[i]), 0))
        pltpu.emit_pipeline(body, grid=(4,), in_specs=[spec], out_specs=[spec])(x_hbm, y_hbm)
    return call(kernel, like(x.shape),
                in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), ANY], out_specs=ANY)(offsets, x)


RNG = np.random.default_rng(3)
ARGUMENTS = {
    "columns_counted": {0: RNG.integers(0, 128, (16, 512))},
    "pages_with_scales": {0: RNG.permutation(32).reshape(4, 8), 1: np.array([100, 17, 128, 64])},
    "ragged_pipeline": {0: np.array([0, 8, 24, 48, 64])},
}
CASES = [
    ("selective_scan", selective_scan,
     [like((64, 128)), like((64, 128)), like((64, 16)), like((64, 16)), like((16, 128))], 1e-5),
    ("delta_rule", delta_rule, [like((32, 128))] * 3 + [like((32, 1))] * 2, 1e-5),
    ("delta_chunks", delta_chunks, [like((256, 128))] * 3 + [like((256, 1))], 4e-2),
    ("decays_unrolled", decays_unrolled, [like((32, 128))] * 4 + [like((1, 128))], 1e-5),
    ("columns_counted", columns_counted, [like((16, 512), I32)], 0.0),
    ("pages_with_scales", pages_with_scales,
     [like((4, 8), I32), like((4,), I32), like((4, 8, 128), BF16), like((32, 2, 16, 128), I8),
      like((32, 2, 16, 1))]),
    ("latent_attention", latent_attention, [like((4, 128, 576), BF16), like((512, 576), BF16)]),
    ("best_eight", best_eight, [like((128, 256))], 0.0),
    ("wide_norm", wide_norm, [like((256, 4096), BF16), like((1, 4096))], 1e-2),
    ("wide_norm_gradient", wide_norm_gradient,
     [like((128, 2048), BF16), like((1, 2048)), like((128, 2048), BF16)], 2e-2),
    ("taps_and_gate", taps_and_gate, [like((512, 256), BF16), like((4, 256)), like((1, 256))]),
    ("ragged_pipeline", ragged_pipeline, [like((5,), I32), like((64, 128))], 1e-6),
]

"""Kernels in the manner of public libraries: state space models, recurrences, gradients of norms,
grouped products with masks, quantized weights, windows with halos, buffer counts, dynamic grids,
pipelines in pipelines, decoding over pages.

CASES lists (name, function, shapes of arguments, bound) as library.py does.
"""

import jax
import jax.numpy as jnp
import numpy as np
from common import ANY, BF16, F32, I8, I32, SMEM, VMEM, call, like
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ARBITRARY = pltpu.CompilerParams(dimension_semantics=("arbitrary",))


def dot(a, b, dims=((1,), (0,))):
    return lax.dot_general(a, b, (dims, ((), ())), preferred_element_type=F32)


def ssd_chunks(x, a, b, c):
    """Mamba-2: a chunk of 64 positions against itself by decays, and the state of those before."""
    chunk, depth, states = 64, x.shape[1], b.shape[1]

    def kernel(x_ref, a_ref, b_ref, c_ref, o_ref, h_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            h_ref[...] = jnp.zeros_like(h_ref)
        row = lax.broadcasted_iota(I32, (chunk, chunk), 0)
        column = lax.broadcasted_iota(I32, (chunk, chunk), 1)
        lower = (row >= column).astype(F32)
        decay = -jax.nn.softplus(a_ref[...])                            # [chunk, 1]
        before = jnp.sum(lower * decay.T, axis=1, keepdims=True)        # sums up to each
        gaps = jnp.where(row >= column, jnp.exp(before - before.T), 0.0)
        scores = dot(c_ref[...], b_ref[...], ((1,), (1,))) * gaps
        out = dot(scores, x_ref[...]) + jnp.exp(before) * dot(c_ref[...], h_ref[...])
        o_ref[...] = out
        last = before[chunk - 1:, :]
        weighted = b_ref[...] * jnp.exp(last - before)
        h_ref[...] = jnp.exp(last) * h_ref[...] + dot(weighted.T, x_ref[...])

    def rows(width):
        return pl.BlockSpec((chunk, width), lambda i: (i, 0))
    return call(kernel, like(x.shape), grid=(x.shape[0] // chunk,),
                in_specs=[rows(depth), rows(1), rows(states), rows(states)], out_specs=rows(depth),
                scratch_shapes=[pltpu.VMEM((states, depth), F32)],
                compiler_params=ARBITRARY)(x, a, b, c)


def rg_lru(x, r, g, a):
    """A gated linear recurrence, row by row, eight rows at a time."""
    def kernel(x_ref, r_ref, g_ref, a_ref, o_ref, h_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            h_ref[...] = jnp.zeros_like(h_ref)
        log_a = -8.0 * jax.nn.softplus(a_ref[...]) * jax.nn.sigmoid(r_ref[...])
        decay = jnp.exp(log_a)
        gated = x_ref[...] * jax.nn.sigmoid(g_ref[...]) * jnp.sqrt(1 - jnp.exp(2 * log_a))
        h = h_ref[...]
        rows = []
        for i in range(8):
            h = decay[i:i + 1] * h + gated[i:i + 1]
            rows.append(h)
        o_ref[...] = jnp.concatenate(rows, axis=0)
        h_ref[...] = h
    block = pl.BlockSpec((8, x.shape[1]), lambda i: (i, 0))
    return call(kernel, like(x.shape), grid=(x.shape[0] // 8,),
                in_specs=[block] * 3 + [pl.BlockSpec((1, x.shape[1]), lambda i: (0, 0))],
                out_specs=block, scratch_shapes=[pltpu.VMEM((1, x.shape[1]), F32)],
                compiler_params=ARBITRARY)(x, r, g, a)


def layer_norm_gradient(x, w, dy):
    """dx by rows; dw and db stand in blocks that every step adds to."""
    def kernel(x_ref, w_ref, dy_ref, dx_ref, dw_ref, db_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            dw_ref[...] = jnp.zeros_like(dw_ref)
            db_ref[...] = jnp.zeros_like(db_ref)
        x, dy = x_ref[...].astype(F32), dy_ref[...].astype(F32)
        mean = jnp.mean(x, axis=1, keepdims=True)
        rstd = lax.rsqrt(jnp.mean((x - mean) ** 2, axis=1, keepdims=True) + 1e-6)
        xhat = (x - mean) * rstd
        wdy = dy * w_ref[...]
        c1 = jnp.mean(xhat * wdy, axis=1, keepdims=True)
        c2 = jnp.mean(wdy, axis=1, keepdims=True)
        dx_ref[...] = ((wdy - xhat * c1 - c2) * rstd).astype(dx_ref.dtype)
        dw_ref[...] += jnp.sum(dy * xhat, axis=0, keepdims=True)
        db_ref[...] += jnp.sum(dy, axis=0, keepdims=True)
    block = pl.BlockSpec((32, x.shape[1]), lambda i: (i, 0))
    one = pl.BlockSpec((1, x.shape[1]), lambda i: (0, 0))
    return call(kernel, [like(x.shape, x.dtype), like(w.shape), like(w.shape)],
                grid=(x.shape[0] // 32,), in_specs=[block, one, block],
                out_specs=[block, one, one], compiler_params=ARBITRARY)(x, w, dy)


def rope_halves(x, cos, sin):
    def kernel(x_ref, c_ref, s_ref, o_ref):
        x = x_ref[0].astype(F32)
        lane = lax.broadcasted_iota(I32, x.shape, 1)
        turned = pltpu.roll(x, 64, 1)
        turned = jnp.where(lane < 64, -turned, turned)
        o_ref[0] = (x * c_ref[...] + turned * s_ref[...]).astype(o_ref.dtype)
    block = pl.BlockSpec((1, 64, 128), lambda h, i: (h, i, 0))
    table = pl.BlockSpec((64, 128), lambda h, i: (i, 0))
    return call(kernel, like(x.shape, x.dtype), grid=(x.shape[0], x.shape[1] // 64),
                in_specs=[block, table, table], out_specs=block)(x, cos, sin)


def rope_pairs(x, cos, sin):
    def kernel(x_ref, c_ref, s_ref, o_ref):
        x = x_ref[...]
        lane = lax.broadcasted_iota(I32, x.shape, 1)
        turned = jnp.where(lane % 2 == 0, -pltpu.roll(x, 127, 1), pltpu.roll(x, 1, 1))
        o_ref[...] = x * c_ref[...] + turned * s_ref[...]
    return call(kernel, like(x.shape))(x, cos, sin)


# groups of rows that begin anywhere: each tile of rows is visited once for every group in it

ENDS = np.array([0, 40, 40, 100, 128])


def visits(ends, tile):
    found = []
    for group in range(len(ends) - 1):
        first, last = ends[group], ends[group + 1]
        if last > first:
            found += [(group, t) for t in range(first // tile, (last - 1) // tile + 1)]
    return np.array(found, np.int32).T


def group_mask(ends_ref, groups_ref, tiles_ref, i, shape, tile):
    row = tiles_ref[i] * tile + lax.broadcasted_iota(I32, shape, 0)
    group = groups_ref[i]
    return (row >= ends_ref[group]) & (row < ends_ref[group + 1])


def grouped_product(x, w):
    tile = 32
    groups, tiles = visits(ENDS, tile)

    def kernel(ends_ref, groups_ref, tiles_ref, x_ref, w_ref, o_ref):
        i = pl.program_id(0)
        mine = group_mask(ends_ref, groups_ref, tiles_ref, i, o_ref.shape, tile)
        out = dot(x_ref[...], w_ref[0])
        is_first = (i == 0) | (tiles_ref[jnp.maximum(i - 1, 0)] != tiles_ref[i])

        @pl.when(is_first)
        def _():
            o_ref[...] = jnp.where(mine, out, 0.0)

        @pl.when(jnp.logical_not(is_first))
        def _():
            o_ref[...] = jnp.where(mine, out, o_ref[...])
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=3, grid=(len(groups),),
        in_specs=[pl.BlockSpec((tile, x.shape[1]), lambda i, e, g, t: (t[i], 0)),
                  pl.BlockSpec((1, *w.shape[1:]), lambda i, e, g, t: (g[i], 0, 0))],
        out_specs=pl.BlockSpec((tile, w.shape[2]), lambda i, e, g, t: (t[i], 0)))
    return call(kernel, like((x.shape[0], w.shape[2])), grid_spec=spec)(
        jnp.asarray(ENDS, I32), jnp.asarray(groups), jnp.asarray(tiles), x, w)


def grouped_transposed(x, dy):
    """Gradients of a group's weights: the group without rows keeps zeros of its own."""
    tile = 32
    groups, tiles = visits(ENDS, tile)
    groups, tiles = np.insert(groups, 2, 1), np.insert(tiles, 2, 1)

    def kernel(ends_ref, groups_ref, tiles_ref, x_ref, dy_ref, o_ref, acc_ref):
        i = pl.program_id(0)
        group = groups_ref[i]

        @pl.when((i == 0) | (groups_ref[jnp.maximum(i - 1, 0)] != group))
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        @pl.when(ends_ref[group + 1] > ends_ref[group])
        def _():
            mine = group_mask(ends_ref, groups_ref, tiles_ref, i, x_ref.shape, tile)
            acc_ref[...] += dot(jnp.where(mine, x_ref[...], 0).T, dy_ref[...])
        is_last = (i == len(groups) - 1) | (
            groups_ref[jnp.minimum(i + 1, len(groups) - 1)] != group)

        @pl.when(is_last)
        def _():
            o_ref[0] = acc_ref[...].astype(o_ref.dtype)
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=3, grid=(len(groups),),
        in_specs=[pl.BlockSpec((tile, x.shape[1]), lambda i, e, g, t: (t[i], 0)),
                  pl.BlockSpec((tile, dy.shape[1]), lambda i, e, g, t: (t[i], 0))],
        out_specs=pl.BlockSpec((1, x.shape[1], dy.shape[1]), lambda i, e, g, t: (g[i], 0, 0)),
        scratch_shapes=[pltpu.VMEM((x.shape[1], dy.shape[1]), F32)])
    return call(kernel, like((4, x.shape[1], dy.shape[1])), grid_spec=spec)(
        jnp.asarray(ENDS, I32), jnp.asarray(groups), jnp.asarray(tiles), x, dy)


# quantized weights

def two_in_a_byte(x, w, s):
    """4-bit weights, two of a column in a byte; a scale for each 128 rows."""
    def kernel(x_ref, w_ref, s_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)
        packed = w_ref[...].astype(I32)
        low = lax.shift_right_arithmetic(lax.shift_left(packed, 28), 28)
        high = lax.shift_right_arithmetic(packed, 4)
        x = x_ref[...]
        part = dot(x[:, :64], low.astype(BF16)) + dot(x[:, 64:], high.astype(BF16))
        o_ref[...] += part * s_ref[0]
    return call(kernel, like((x.shape[0], w.shape[1])), grid=(w.shape[0] // 64,),
                in_specs=[pl.BlockSpec((x.shape[0], 128), lambda k: (0, k)),
                          pl.BlockSpec((64, w.shape[1]), lambda k: (k, 0)),
                          pl.BlockSpec((1, 1, w.shape[1]), lambda k: (k, 0, 0))],
                out_specs=pl.BlockSpec((x.shape[0], w.shape[1]), lambda k: (0, 0)),
                compiler_params=ARBITRARY)(x, w, s)


def quantize_rows(x):
    def kernel(x_ref, q_ref, s_ref):
        x = x_ref[...].astype(F32)
        scale = jnp.maximum(jnp.max(jnp.abs(x), axis=1, keepdims=True), 1e-6) / 127
        q_ref[...] = jnp.clip(jnp.round(x / scale), -127, 127).astype(I8)
        s_ref[...] = scale
    return call(kernel, [like(x.shape, I8), like((x.shape[0], 1))], grid=(x.shape[0] // 32,),
                in_specs=[pl.BlockSpec((32, x.shape[1]), lambda i: (i, 0))],
                out_specs=[pl.BlockSpec((32, x.shape[1]), lambda i: (i, 0)),
                           pl.BlockSpec((32, 1), lambda i: (i, 0))])(x)


def swiglu(x, w, v):
    def kernel(x_ref, w_ref, v_ref, o_ref, a_ref, b_ref):
        k = pl.program_id(2)

        @pl.when(k == 0)
        def _():
            a_ref[...] = jnp.zeros_like(a_ref)
            b_ref[...] = jnp.zeros_like(b_ref)
        a_ref[...] += dot(x_ref[...], w_ref[...])
        b_ref[...] += dot(x_ref[...], v_ref[...])

        @pl.when(k == pl.num_programs(2) - 1)
        def _():
            a = a_ref[...]
            o_ref[...] = (a * jax.nn.sigmoid(a) * b_ref[...]).astype(o_ref.dtype)
    rows, depth, columns = x.shape[0], x.shape[1], w.shape[1]
    weights = pl.BlockSpec((128, 128), lambda i, j, k: (k, j))
    return call(kernel, like((rows, columns), BF16), grid=(rows // 64, columns // 128, depth // 128),
                in_specs=[pl.BlockSpec((64, 128), lambda i, j, k: (i, k)), weights, weights],
                out_specs=pl.BlockSpec((64, 128), lambda i, j, k: (i, j)),
                scratch_shapes=[pltpu.VMEM((64, 128), F32)] * 2)(x, w, v)


# windows

def halo_rows(x):
    """Blocks of 8 rows with 8 more before and behind, which overlap."""
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[7:15] + 2 * x_ref[8:16] + x_ref[9:17]
    return call(kernel, like((x.shape[0] - 16, x.shape[1])), grid=((x.shape[0] - 16) // 8,),
                in_specs=[pl.BlockSpec((pl.Element(24), pl.Element(128)), lambda i: (8 * i, 0))],
                out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)))(x)


def halo_padded(x):
    def kernel(x_ref, o_ref):
        i = pl.program_id(0)
        row = 8 * i - 8 + lax.broadcasted_iota(I32, (24, 128), 0)
        x = jnp.where((row >= 0) & (row < 32), x_ref[...], 0.0)
        o_ref[...] = x[7:15] + x[9:17]
    return call(kernel, like(x.shape), grid=(x.shape[0] // 8,),
                in_specs=[pl.BlockSpec((pl.Element(24, (8, 8)), pl.Element(128)),
                                       lambda i: (8 * i, 0))],
                out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)))(x)


def halo_images(x):
    """Sums of three neighbouring rows of images, those outside being zeros. The one block of an image of
    four rows reaches out on both sides."""
    n, rows, columns, lanes = x.shape

    def kernel(x_ref, o_ref):
        first = pl.program_id(1) * 4 - 1
        row = first + lax.broadcasted_iota(I32, (6, columns, lanes), 0)
        x = jnp.where((row >= 0) & (row < rows), x_ref[0], 0.0)
        o_ref[0] = x[0:4] + 2 * x[1:5] + x[2:6]
    window = pl.BlockSpec((pl.Element(1), pl.Element(6, (1, 1)), pl.Element(columns),
                           pl.Element(lanes)), lambda i, j: (i, 4 * j, 0, 0))
    return call(kernel, like(x.shape), grid=(n, pl.cdiv(rows, 4)), in_specs=[window],
                out_specs=pl.BlockSpec((1, 4, columns, lanes), lambda i, j: (i, j, 0, 0)))(x)


def three_buffers(x, y):
    """A pipeline whose blocks have three places, beside one that has a single one."""
    def kernel(x_hbm, y_ref, o_hbm):
        def body(x_ref, o_ref):
            o_ref[...] = jnp.tanh(x_ref[...]) * y_ref[...]
        block = pl.BlockSpec((16, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(3))
        pltpu.emit_pipeline(body, grid=(x.shape[0] // 16,), in_specs=[block],
                            out_specs=[pl.BlockSpec((16, 128), lambda i: (i, 0))])(x_hbm, o_hbm)
    return call(kernel, like(x.shape), in_specs=[ANY, VMEM], out_specs=ANY)(x, y)


def looks_ahead(x):
    """Blocks that change seldom are fetched as soon as it is known which comes next."""
    def kernel(x_hbm, y_hbm, o_hbm):
        def body(x_ref, y_ref, o_ref):
            o_ref[...] = x_ref[...] * 2 + y_ref[...]
        ahead = pl.Buffered(2, use_lookahead=True)
        pltpu.emit_pipeline(
            body, grid=(6,),
            in_specs=[pl.BlockSpec((16, 128), lambda i: (i // 3, 0), pipeline_mode=ahead),
                      pl.BlockSpec((16, 128), lambda i: (i, 0))],
            out_specs=[pl.BlockSpec((16, 128), lambda i: (i, 0))])(x_hbm, y_hbm, o_hbm)
    return call(kernel, like(x.shape), in_specs=[ANY, ANY], out_specs=ANY)(x, x)


def bounded_slices(starts, x):
    """Blocks of at most 32 rows, of sizes and places that a table says."""
    def kernel(starts_ref, x_hbm, o_hbm):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] + 1

        def rows(i):
            return pl.ds(starts_ref[i], starts_ref[i + 1] - starts_ref[i])
        block = pl.BlockSpec((pl.BoundedSlice(32), 128), lambda i: (rows(i), 0))
        pltpu.emit_pipeline(body, grid=(3,), in_specs=[block], out_specs=[block])(x_hbm, o_hbm)
    return call(kernel, like(x.shape), in_specs=[SMEM, ANY], out_specs=ANY)(starts, x)


def blocks_backwards(x):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] - y_ref[...]
    n = x.shape[0] // 16
    return call(kernel, like(x.shape), grid=(n,),
                in_specs=[pl.BlockSpec((16, 128), lambda i: (n - 1 - i, 0)),
                          pl.BlockSpec((16, 128), lambda i: (jnp.where(i % 2 == 0, i // 2, 0), 0))],
                out_specs=pl.BlockSpec((16, 128), lambda i: (i, 0)))(x, x)


def dynamic_grid(n, x):
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)
        o_ref[...] += x_ref[...]

    def run(n, x):
        return call(kernel, like((8, 128)), grid=(n[0],),
                    in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                    out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),
                    compiler_params=ARBITRARY)(x)
    return run(n, x)


def squeezed(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...].T
    return call(kernel, like((2, 4, 128, 16)), grid=(2, 4),
                in_specs=[pl.BlockSpec((pl.Squeezed(), None, 16, 128), lambda b, h: (b, h, 0, 0))],
                out_specs=pl.BlockSpec((None, None, 128, 16), lambda b, h: (b, h, 0, 0)))(x)


# copies by hand, pipelines in kernels

def semaphore_arrays(x):
    def kernel(x_hbm, o_hbm, buf, sems):
        def copy_in(i):
            return pltpu.make_async_copy(x_hbm.at[pl.ds(i * 8, 8)], buf.at[i], sems.at[0, i])

        def copy_out(i):
            return pltpu.make_async_copy(buf.at[i], o_hbm.at[pl.ds((3 - i) * 8, 8)], sems.at[1, i])
        for i in range(4):
            copy_in(i).start()
        for i in range(4):
            copy_in(i).wait()
            buf[i] = buf[i] * (i + 1.0)
            copy_out(i).start()
        for i in range(4):
            copy_out(i).wait()
    return call(kernel, like(x.shape), in_specs=[ANY], out_specs=ANY,
                scratch_shapes=[pltpu.VMEM((4, 8, 128), F32), pltpu.SemaphoreType.DMA((2, 4))])(x)


def column_copies(x):
    def kernel(x_hbm, o_hbm, buf, sem):
        def body(i, _):
            at = pl.multiple_of(i * 128, 128)
            copy = pltpu.make_async_copy(x_hbm.at[:, pl.ds(at, 128)], buf, sem)
            copy.start()
            copy.wait()
            buf[...] = jnp.exp(buf[...])
            back = pltpu.make_async_copy(buf, o_hbm.at[:, pl.ds(at, 128)], sem)
            back.start()
            back.wait()
            return ()
        lax.fori_loop(0, x.shape[1] // 128, body, ())
    return call(kernel, like(x.shape), in_specs=[ANY], out_specs=ANY,
                scratch_shapes=[pltpu.VMEM((x.shape[0], 128), F32), pltpu.SemaphoreType.DMA])(x)


def pipeline_in_pipeline(x, y):
    """Rows of blocks outside, the contraction inside."""
    def kernel(x_hbm, y_hbm, o_hbm, acc):
        def outer(x_ref, o_ref):
            acc[...] = jnp.zeros_like(acc)

            def inner(y_ref):
                k = pl.program_id(0)
                acc[...] += dot(x_ref[:, pl.ds(k * 128, 128)], y_ref[...])
            pltpu.emit_pipeline(inner, grid=(2,),
                                in_specs=[pl.BlockSpec((128, 128), lambda k: (k, 0))])(y_hbm)
            o_ref[...] = acc[...]
        pltpu.emit_pipeline(outer, grid=(3,),
                            in_specs=[pl.BlockSpec((16, 256), lambda i: (i, 0))],
                            out_specs=[pl.BlockSpec((16, 128), lambda i: (i, 0))])(x_hbm, o_hbm)
    return call(kernel, like((48, 128)), in_specs=[ANY, ANY], out_specs=ANY,
                scratch_shapes=[pltpu.VMEM((16, 128), F32)])(x, y)


def core_map_rows(x):
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)

    def f(x_ref, o_ref):
        @pl.core_map(mesh)
        def _():
            def body(x_vmem, o_vmem):
                o_vmem[...] = x_vmem[...] * 2 + 1
            pltpu.emit_pipeline(body, grid=(4,),
                                in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                                out_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))])(x_ref, o_ref)

    @jax.jit
    def run(x):
        _, out = pl.run_state(lambda refs: f(*refs))((x, jnp.zeros_like(x)))
        return out
    return run(x)


def scoped_buffers(x):
    def kernel(x_hbm, o_ref):
        def body(buf, counts, sem):
            counts[0] = 0

            def step(i, _):
                copy = pltpu.make_async_copy(x_hbm.at[pl.ds(i * 8, 8)], buf.at[i % 2], sem.at[i % 2])
                copy.start()
                copy.wait()
                counts[0] += 1
                o_ref[pl.ds(i * 8, 8), :] = buf[i % 2] + counts[0].astype(F32)
                return ()
            lax.fori_loop(0, 4, step, ())
        pl.run_scoped(body, pltpu.VMEM((2, 8, 128), F32), pltpu.SMEM((1,), I32),
                      pltpu.SemaphoreType.DMA((2,)))
    return call(kernel, like(x.shape), in_specs=[ANY], out_specs=VMEM)(x)


# decoding over pages, updates of a cache

def paged_decode(lengths, pages, q, k_pages, v_pages):
    """One query a sequence, eight heads that share keys; pages of 16 positions, lengths unequal."""
    per_block = 2
    page = k_pages.shape[1]
    most = pages.shape[1]

    def kernel(lengths_ref, pages_ref, q_ref, k_hbm, v_hbm, o_ref, k_buf, v_buf, sems):
        b = pl.program_id(0)
        length = lengths_ref[b]
        steps = pl.cdiv(length, page * per_block)

        def copies(step, slot):
            for i in range(per_block):
                number = pages_ref[b, jnp.minimum(step * per_block + i, most - 1)]
                at = pl.ds(i * page, page)
                yield pltpu.make_async_copy(k_hbm.at[number], k_buf.at[slot, at], sems.at[slot, 0])
                yield pltpu.make_async_copy(v_hbm.at[number], v_buf.at[slot, at], sems.at[slot, 1])

        for copy in copies(0, 0):
            copy.start()

        def body(step, carry):
            m, total, acc = carry
            slot = lax.rem(step, 2)

            @pl.when(step + 1 < steps)
            def _():
                for copy in copies(step + 1, 1 - slot):
                    copy.start()
            for copy in copies(step, slot):
                copy.wait()
            s = dot(q_ref[0], k_buf[slot], ((1,), (1,))) * 0.0883883
            key = step * page * per_block + lax.broadcasted_iota(I32, s.shape, 1)
            s = jnp.where(key < length, s, -1e30)
            now = jnp.maximum(m, jnp.max(s, axis=1, keepdims=True))
            p = jnp.exp(s - now)
            alpha = jnp.exp(m - now)
            total = alpha * total + jnp.sum(p, axis=1, keepdims=True)
            acc = alpha * acc + dot(p.astype(BF16), v_buf[slot])
            return now, total, acc
        m, total, acc = lax.fori_loop(
            0, steps, body, (jnp.full((8, 1), -1e30, F32), jnp.zeros((8, 1), F32),
                             jnp.zeros((8, 128), F32)))
        o_ref[0] = (acc / total).astype(o_ref.dtype)
    block = pl.BlockSpec((1, 8, 128), lambda b, *_: (b, 0, 0))
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=2, grid=(q.shape[0],), in_specs=[block, ANY, ANY], out_specs=block,
        scratch_shapes=[pltpu.VMEM((2, per_block * page, 128), BF16)] * 2 +
        [pltpu.SemaphoreType.DMA((2, 2))])
    return call(kernel, like(q.shape, BF16), grid_spec=spec)(lengths, pages, q, k_pages, v_pages)


def latent_decode(lengths, q, latent, rotary_q, rotary):
    """Attention on a compressed cache: one latent of a position is key and value of all heads."""
    block = 64

    def kernel(lengths_ref, q_ref, c_ref, rq_ref, r_ref, o_ref, m_ref, l_ref, acc_ref):
        b, i = pl.program_id(0), pl.program_id(1)

        @pl.when(i == 0)
        def _():
            m_ref[...] = jnp.full_like(m_ref, -jnp.inf)
            l_ref[...] = jnp.zeros_like(l_ref)
            acc_ref[...] = jnp.zeros_like(acc_ref)

        @pl.when(i * block < lengths_ref[b])
        def _():
            c = c_ref[0]
            s = dot(q_ref[0], c, ((1,), (1,))) + dot(rq_ref[0], r_ref[0], ((1,), (1,)))
            key = i * block + lax.broadcasted_iota(I32, s.shape, 1)
            s = jnp.where(key < lengths_ref[b], s * 0.05, -jnp.inf)
            m = jnp.maximum(m_ref[...], jnp.max(s, axis=1, keepdims=True))
            p = jnp.exp(s - m[:, :1])
            alpha = jnp.exp(m_ref[...] - m)
            l_ref[...] = alpha * l_ref[...] + jnp.sum(p, axis=1, keepdims=True)
            acc_ref[...] = alpha[:, :1] * acc_ref[...] + dot(p.astype(BF16), c)
            m_ref[...] = m

        @pl.when(i == pl.num_programs(1) - 1)
        def _():
            o_ref[0] = (acc_ref[...] / l_ref[:, :1]).astype(o_ref.dtype)

    def of_queries(width):
        return pl.BlockSpec((1, 16, width), lambda b, i, n: (b, 0, 0))

    def of_keys(width):
        return pl.BlockSpec((1, block, width),
                            lambda b, i, n: (b, jnp.minimum(i, (n[b] - 1) // block), 0))
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(q.shape[0], latent.shape[1] // block),
        in_specs=[of_queries(256), of_keys(256), of_queries(64), of_keys(64)],
        out_specs=of_queries(256),
        scratch_shapes=[pltpu.VMEM((16, 128), F32)] * 2 + [pltpu.VMEM((16, 256), F32)])
    return call(kernel, like(q.shape, BF16), grid_spec=spec)(lengths, q, latent, rotary_q, rotary)


def cache_rows(slots, new, cache):
    """New keys go to their slots of a cache in HBM, which the result takes over."""
    def kernel(slots_ref, new_ref, cache_in, cache_ref, sem):
        def copy(i):
            return pltpu.make_async_copy(new_ref.at[pl.ds(i, 1)],
                                         cache_ref.at[pl.ds(slots_ref[i], 1)], sem)

        def start(i, _):
            copy(i).start()
            return ()

        def wait(i, _):
            copy(i).wait()
            return ()
        lax.fori_loop(0, 8, start, ())
        lax.fori_loop(0, 8, wait, ())
    return call(kernel, like(cache.shape), in_specs=[SMEM, VMEM, ANY], out_specs=ANY,
                input_output_aliases={2: 0},
                scratch_shapes=[pltpu.SemaphoreType.DMA])(slots, new, cache)


ARGUMENTS = {
    "bounded_slices": {0: np.array([0, 16, 40, 64])},
    "dynamic_grid": {0: np.array([3])},
    "paged_decode": {0: np.array([5, 64, 33]),
                     1: np.array([[3, 1, 4, 0], [5, 9, 2, 6], [8, 7, 10, 11]])},
    "latent_decode": {0: np.array([70, 192])},
    "cache_rows": {0: np.array([3, 9, 31, 0, 17, 22, 5, 14])},
}
CASES = [
    ("ssd_chunks", ssd_chunks, [like((256, 128)), like((256, 1)), like((256, 128)),
                                like((256, 128))], 2e-2),
    ("rg_lru", rg_lru, [like((64, 256))] * 3 + [like((1, 256))], 1e-4),
    ("layer_norm_gradient", layer_norm_gradient, [like((128, 384), BF16), like((1, 384)),
                                                  like((128, 384), BF16)], 1e-2),
    ("rope_halves", rope_halves, [like((4, 128, 128), BF16)] + [like((128, 128))] * 2, 1e-2),
    ("rope_pairs", rope_pairs, [like((64, 128))] * 3, 1e-5),
    ("grouped_product", grouped_product, [like((128, 256), BF16), like((4, 256, 128), BF16)], 2e-2),
    ("grouped_transposed", grouped_transposed, [like((128, 128), BF16), like((128, 256), BF16)],
     2e-2),
    ("two_in_a_byte", two_in_a_byte, [like((32, 512), BF16), like((256, 256), I8),
                                      like((4, 1, 256))], 2e-2),
    ("quantize_rows", quantize_rows, [like((64, 512), BF16)], 1.0),
    ("swiglu", swiglu, [like((128, 256), BF16), like((256, 256), BF16), like((256, 256), BF16)],
     2e-2),
    ("halo_rows", halo_rows, [like((80, 128))], 1e-6),
    ("three_buffers", three_buffers, [like((96, 128)), like((16, 128))], 1e-5),
    ("looks_ahead", looks_ahead, [like((96, 128))], 1e-6),
    ("bounded_slices", bounded_slices, [like((4,), I32), like((64, 128))], 1e-6),
    ("blocks_backwards", blocks_backwards, [like((96, 128))], 0.0),
    ("dynamic_grid", dynamic_grid, [like((1,), I32), like((64, 128))], 1e-5),
    ("squeezed", squeezed, [like((2, 4, 16, 128))], 0.0),
    ("semaphore_arrays", semaphore_arrays, [like((32, 128))], 0.0),
    ("column_copies", column_copies, [like((24, 512))], 1e-5),
    ("pipeline_in_pipeline", pipeline_in_pipeline, [like((48, 256)), like((256, 128))], 2e-2),
    ("core_map_rows", core_map_rows, [like((32, 128))], 0.0),
    ("scoped_buffers", scoped_buffers, [like((32, 128))], 0.0),
    ("paged_decode", paged_decode, [like((3,), I32), like((3, 4), I32), like((3, 8, 128), BF16),
                                    like((12, 16, 128), BF16), like((12, 16, 128), BF16)], 2e-2),
    ("latent_decode", latent_decode, [like((2,), I32), like((2, 16, 256), BF16),
                                      like((2, 192, 256), BF16), like((2, 16, 64), BF16),
                                      like((2, 192, 64), BF16)], 2e-2),
    ("cache_rows", cache_rows, [like((8,), I32), like((8, 128)), like((32, 128))], 0.0),
]

# of padded windows, which JAX's TPU interpret mode reads without their padding: no values to hold against
PADDED = [
    ("halo_padded", halo_padded, [like((32, 128))], None),
    ("halo_images", halo_images, [like((2, 12, 8, 128))], None),
    ("halo_one_image", halo_images, [like((1, 4, 16, 128))], None),
]

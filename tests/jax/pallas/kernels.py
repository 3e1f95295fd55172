"""Kernels of Pallas for the TPU, of the kinds that its documentation has, written for these tests.

KERNELS lists (name, function, shapes of arguments, bound): the function takes `interpret` for JAX's
TPU interpret mode, whose values the tests take for right.
"""
import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F32, BF16, I32 = jnp.float32, jnp.bfloat16, jnp.int32


def like(shape, dtype=F32):
    return jax.ShapeDtypeStruct(shape, dtype)


def add(x, y, interpret=False):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...]
    block = pl.BlockSpec((16, 128), lambda i, j: (i, j))
    return pl.pallas_call(kernel, out_shape=like(x.shape), grid=(3, 2), in_specs=[block, block],
                          out_specs=block, interpret=interpret)(x, y)


def softmax(x, interpret=False):
    def kernel(x_ref, o_ref):
        x = x_ref[...]
        e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
        o_ref[...] = e / jnp.sum(e, axis=-1, keepdims=True)
    block = pl.BlockSpec((32, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(kernel, out_shape=like(x.shape), grid=(x.shape[0] // 32,),
                          in_specs=[block], out_specs=block, interpret=interpret)(x)


def matmul(x, y, interpret=False, bm=64, bk=128, bn=128):
    def kernel(x_ref, y_ref, o_ref, acc):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)
        acc[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = acc[...].astype(o_ref.dtype)
    (m, k), n = x.shape, y.shape[1]
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=0, grid=(m // bm, n // bn, k // bk),
        in_specs=[pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)),
                  pl.BlockSpec((bk, bn), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((bm, bn), F32)])
    return pl.pallas_call(
        kernel, grid_spec=spec, out_shape=like((m, n), x.dtype), interpret=interpret,
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary")))(x, y)


def overhang(x, interpret=False):
    """Blocks that reach beyond their array."""
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.tanh(x_ref[...]) * 2.0
    block = pl.BlockSpec((32, 128), lambda i, j: (i, j))
    return pl.pallas_call(kernel, out_shape=like(x.shape), grid=(2, 2), in_specs=[block],
                          out_specs=block, interpret=interpret)(x)


def gather_blocks(which, x, interpret=False):
    """Scalar prefetch: the index map reads which block comes."""
    def kernel(which_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] + which_ref[pl.program_id(0)].astype(F32)
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(which.shape[0],),
        in_specs=[pl.BlockSpec((8, 128), lambda i, which: (which[i], 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, which: (i, 0)))
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=like((8 * which.shape[0], 128)),
                          interpret=interpret)(which, x)


def copies(x, interpret=False):
    """DMAs of the kernel's own, two buffers, a loop."""
    def kernel(x_hbm, o_hbm, buffer, done, sems, sem):
        steps = x_hbm.shape[0] // 16

        def fetch(i, slot):
            return pltpu.make_async_copy(x_hbm.at[pl.ds(i * 16, 16)], buffer.at[slot],
                                         sems.at[slot])
        fetch(0, 0).start()

        def step(i, _):
            slot = jax.lax.rem(i, 2)

            @pl.when(i + 1 < steps)
            def _():
                fetch(i + 1, 1 - slot).start()
            fetch(i, slot).wait()
            done[...] = buffer[slot] * 3.0
            out = pltpu.make_async_copy(done, o_hbm.at[pl.ds(i * 16, 16)], sem)
            out.start()
            out.wait()
            return ()
        jax.lax.fori_loop(0, steps, step, ())
    hbm = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        kernel, out_shape=like(x.shape), in_specs=[hbm], out_specs=hbm, interpret=interpret,
        scratch_shapes=[pltpu.VMEM((2, 16, x.shape[1]), F32), pltpu.VMEM((16, x.shape[1]), F32),
                        pltpu.SemaphoreType.DMA((2,)), pltpu.SemaphoreType.DMA])(x)


def flash(q, k, v, interpret=False, bq=128, bk=128):
    """Attention with a running maximum and sum over blocks of keys."""
    def kernel(q_ref, k_ref, v_ref, o_ref, m_ref, l_ref, acc_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            m_ref[...] = jnp.full_like(m_ref, -1e30)
            l_ref[...] = jnp.zeros_like(l_ref)
            acc_ref[...] = jnp.zeros_like(acc_ref)
        s = jax.lax.dot_general(q_ref[0], k_ref[0], (((1,), (1,)), ((), ())),
                                preferred_element_type=F32) * 0.125
        m_now = jnp.maximum(m_ref[...], jnp.max(s, axis=1, keepdims=True))
        p = jnp.exp(s - m_now[:, :1])
        alpha = jnp.exp(m_ref[...] - m_now)
        l_ref[...] = alpha * l_ref[...] + jnp.sum(p, axis=1, keepdims=True)
        acc_ref[...] = alpha * acc_ref[...] + jnp.dot(p.astype(BF16), v_ref[0],
                                                      preferred_element_type=F32)
        m_ref[...] = m_now

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o_ref[0] = (acc_ref[...] / l_ref[...]).astype(o_ref.dtype)
    heads, length, depth = q.shape
    return pl.pallas_call(
        kernel, grid=(heads, length // bq, k.shape[1] // bk), out_shape=like(q.shape, q.dtype),
        in_specs=[pl.BlockSpec((1, bq, depth), lambda h, i, j: (h, i, 0)),
                  pl.BlockSpec((1, bk, depth), lambda h, i, j: (h, j, 0)),
                  pl.BlockSpec((1, bk, depth), lambda h, i, j: (h, j, 0))],
        out_specs=pl.BlockSpec((1, bq, depth), lambda h, i, j: (h, i, 0)),
        scratch_shapes=[pltpu.VMEM((bq, 128), F32)] * 2 + [pltpu.VMEM((bq, depth), F32)],
        interpret=interpret)(q, k, v)


def masks(x, interpret=False):
    """Indices, comparisons, selections, integers."""
    def kernel(x_ref, o_ref):
        x = x_ref[...]
        rows = jax.lax.broadcasted_iota(I32, x.shape, 0)
        lanes = jax.lax.broadcasted_iota(I32, x.shape, 1)
        keep = (rows >= lanes) & (lanes % 3 != 1)
        o_ref[...] = jnp.where(keep, x, (rows * 2 - lanes).astype(F32))
    return pl.pallas_call(kernel, out_shape=like(x.shape), interpret=interpret)(x)


def column_sums(x, interpret=False):
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.sum(x_ref[...], axis=0, keepdims=True)
    return pl.pallas_call(kernel, out_shape=like((1, x.shape[1])), interpret=interpret)(x)


def loop_carry(x, interpret=False):
    """A loop that carries a vector, slices at computed rows."""
    def kernel(x_ref, o_ref):
        def step(i, carried):
            return carried * 0.5 + x_ref[pl.ds(i * 8, 8), :]
        o_ref[...] = jax.lax.fori_loop(0, x_ref.shape[0] // 8, step,
                                       jnp.zeros((8, x_ref.shape[1]), F32))
    return pl.pallas_call(kernel, out_shape=like((8, x.shape[1])), interpret=interpret)(x)


def layernorm(x, g, interpret=False):
    def kernel(x_ref, g_ref, o_ref):
        x = x_ref[...].astype(F32)
        mean = jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
        o_ref[...] = ((x - mean) * jax.lax.rsqrt(variance + 1e-5) * g_ref[...]).astype(o_ref.dtype)
    rows = pl.BlockSpec((16, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(x.shape[0] // 16,), out_shape=like(x.shape, BF16),
                          in_specs=[rows, pl.BlockSpec((1, x.shape[1]), lambda i: (0, 0))],
                          out_specs=rows, interpret=interpret)(x, g)


def conditional(x, interpret=False):
    """Both branches of a condition give a vector."""
    def kernel(x_ref, o_ref):
        o_ref[...] = jax.lax.cond(pl.program_id(0) % 2 == 0, lambda: x_ref[...] * 2.0,
                                  lambda: -x_ref[...])
    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(x.shape[0] // 8,), in_specs=[block], out_specs=block,
                          out_shape=like(x.shape), interpret=interpret)(x)


def batched(x, y, interpret=False):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = jnp.einsum('bij,bjk->bik', x_ref[...], y_ref[...],
                                preferred_element_type=F32)
    return pl.pallas_call(kernel, out_shape=like((x.shape[0], x.shape[1], y.shape[2])),
                          interpret=interpret)(x, y)


def transposed(x, interpret=False):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...].T
    return pl.pallas_call(kernel, out_shape=like(x.shape[::-1], x.dtype), interpret=interpret)(x)


def narrow(x, interpret=False):
    """Rows and lanes that fill no whole tiles."""
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] - jnp.max(x_ref[...], axis=1, keepdims=True)
    return pl.pallas_call(kernel, out_shape=like(x.shape), interpret=interpret)(x)


def in_place(x, y, interpret=False):
    """The result takes x's place; what a step reads, no step has written before."""
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...]
    block = pl.BlockSpec((16, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(x.shape[0] // 16,), in_specs=[block, block],
                          out_specs=block, out_shape=like(x.shape), input_output_aliases={0: 0},
                          interpret=interpret)(x, y)


def in_place_parts(x, y, interpret=False):
    """Two kernels one behind the other write a part each of the same array, which is read after."""
    def write(array, rows, at):
        def kernel(x_hbm, y_ref, o_hbm, sem):
            pltpu.async_copy(y_ref, o_hbm.at[pl.ds(at, 16)], sem).wait()
        hbm = pl.BlockSpec(memory_space=pl.ANY)
        return pl.pallas_call(kernel, in_specs=[hbm, pl.BlockSpec(memory_space=pltpu.VMEM)],
                              out_specs=hbm, out_shape=like(array.shape),
                              scratch_shapes=[pltpu.SemaphoreType.DMA],
                              input_output_aliases={0: 0}, interpret=interpret)(array, rows)
    made = x * 2.0
    first = write(made, y, 8)
    return write(first, y + 1.0, 32), made + first


def deep(x, y, interpret=False):
    """Few columns of a long contraction."""
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F32)

    def whole(x_ref, y_ref, o_ref):
        o_ref[...] = jnp.ones_like(o_ref)
        kernel(x_ref, y_ref, o_ref)
    return pl.pallas_call(whole, out_shape=like((x.shape[0], y.shape[1])),
                          interpret=interpret)(x, y)


def zeros_first(x, y, interpret=False):
    """A sum that begins with zeros and is read in between, with more columns than units hold."""
    def kernel(x_ref, y_ref, o_ref, p_ref, acc):
        acc[...] = jnp.zeros_like(acc)
        acc[...] += jnp.dot(x_ref[:, :128], y_ref[...], preferred_element_type=F32)
        p_ref[...] = acc[...]
        acc[...] += jnp.dot(x_ref[:, 128:], y_ref[...], preferred_element_type=F32)
        o_ref[...] = acc[...]
    shape = like((x.shape[0], y.shape[1]))
    return pl.pallas_call(kernel, out_shape=[shape, shape],
                          scratch_shapes=[pltpu.VMEM(shape.shape, F32)],
                          interpret=interpret)(x, y)


def scores(q, k, v, interpret=False):
    """Attention whose widths, and whose keys, fill no whole tiles of lanes."""
    def kernel(q_ref, k_ref, v_ref, o_ref):
        s = jax.lax.dot_general(q_ref[...] * 0.25, k_ref[...], (((1,), (1,)), ((), ())),
                                preferred_element_type=F32)
        column = jax.lax.broadcasted_iota(I32, s.shape, 1)
        row = jax.lax.broadcasted_iota(I32, s.shape, 0)
        s = jnp.where(column <= row + 100, s, -1e30)
        e = jnp.exp(s - jnp.max(s, axis=1, keepdims=True))
        p = jnp.dot(e, v_ref[...], preferred_element_type=F32)
        o_ref[...] = p / jnp.sum(e, axis=1, keepdims=True)
    return pl.pallas_call(kernel, out_shape=like(q.shape), interpret=interpret)(q, k, v)


def turned(x, y, interpret=False):
    """One left operand, contracted along its rows, by two blocks of columns."""
    def kernel(x_ref, y_ref, o_ref):
        for i in range(2):
            o_ref[:, 128 * i:128 * (i + 1)] = jax.lax.dot_general(
                x_ref[...] * 2, y_ref[:, 128 * i:128 * (i + 1)], (((0,), (0,)), ((), ())),
                preferred_element_type=F32)
    return pl.pallas_call(kernel, out_shape=like((x.shape[1], 256)), interpret=interpret)(x, y)


def rounds(x, y, interpret=False, width=128):
    """A running maximum and sum over blocks of columns, written out one behind the other."""
    def kernel(x_ref, y_ref, o_ref, m_ref, l_ref):
        m_ref[...] = jnp.full_like(m_ref, -1e30)
        l_ref[...] = jnp.zeros_like(l_ref)
        for i in range(y_ref.shape[0] // width):
            s = jax.lax.dot_general(x_ref[...], y_ref[width * i:width * (i + 1), :],
                                    (((1,), (1,)), ((), ())), preferred_element_type=F32)
            before = m_ref[...]
            m = jnp.maximum(before, jnp.max(s, axis=1, keepdims=True))
            l_ref[...] = (l_ref[...] * jnp.exp(before - m) +
                          jnp.sum(jnp.exp(s - m[:, :1]), axis=1, keepdims=True))
            m_ref[...] = m
        o_ref[...] = m_ref[...] + jnp.log(l_ref[...])
    return pl.pallas_call(kernel, out_shape=like((x.shape[0], 128)),
                          scratch_shapes=[pltpu.VMEM((x.shape[0], 128), F32)] * 2,
                          interpret=interpret)(x, y)


def key_parts(q, k, v, interpret=False, width=128):
    """Attention of long blocks of queries, parts of the keys one behind the other."""
    def kernel(q_ref, k_ref, v_ref, o_ref, m_ref, l_ref, acc_ref):
        m_ref[...] = jnp.full_like(m_ref, -1e30)
        l_ref[...] = jnp.zeros_like(l_ref)
        acc_ref[...] = jnp.zeros_like(acc_ref)

        def part(i, _):
            at = pl.ds(i * width, width)
            s = jax.lax.dot_general(q_ref[...], k_ref[at, :], (((1,), (1,)), ((), ())),
                                    preferred_element_type=F32) * 0.125
            m_now = jnp.maximum(m_ref[...], jnp.max(s, axis=1, keepdims=True))
            p = jnp.exp(s - m_now[:, :1])
            alpha = jnp.exp(m_ref[...] - m_now)
            l_ref[...] = alpha * l_ref[...] + jnp.sum(p, axis=1, keepdims=True)
            acc_ref[...] = alpha * acc_ref[...] + jnp.dot(p.astype(BF16), v_ref[at, :],
                                                          preferred_element_type=F32)
            m_ref[...] = m_now
        jax.lax.fori_loop(0, k.shape[0] // width, part, None, unroll=True)
        o_ref[...] = (acc_ref[...] / l_ref[...]).astype(o_ref.dtype)
    return pl.pallas_call(
        kernel, out_shape=like(q.shape, q.dtype), interpret=interpret,
        scratch_shapes=[pltpu.VMEM((q.shape[0], 128), F32)] * 3)(q, k, v)


def halves(x, interpret=False):
    """Halves of rows that change places where they stand."""
    def kernel(x_ref, o_ref, s):
        s[...] = x_ref[...]
        s[...] = jnp.concatenate([s[:, 128:], s[:, :128]], axis=1)
        v = s[...]
        s[...] = jnp.concatenate([v[:, 128:] * 2, v[:, :128]], axis=1)
        o_ref[...] = s[...] + jnp.concatenate([v[:, :128], v[:, :128]], axis=1)
    return pl.pallas_call(kernel, out_shape=like(x.shape, x.dtype), interpret=interpret,
                          scratch_shapes=[pltpu.VMEM(x.shape, x.dtype)])(x)


def last_block(x, interpret=False):
    """Blocks of rows by hand, the last one shorter: 8 rows, which are half a tile of bf16."""
    def kernel(x_hbm, o_ref, buffer, sem):
        def step(i, _):
            size = pl.multiple_of(jnp.minimum(32, x.shape[1] - 32 * i), 8)
            copy = pltpu.make_async_copy(x_hbm.at[1, pl.ds(pl.multiple_of(32 * i, 32), size)],
                                         buffer.at[0, pl.ds(0, size)], sem)
            copy.start()
            copy.wait()
            rows = jax.lax.broadcasted_iota(I32, (32, x.shape[2]), 0)
            o_ref[pl.ds(pl.multiple_of(32 * i, 32), 32), :] = jnp.where(
                rows < size, buffer[0].astype(F32), 0.)
        jax.lax.fori_loop(0, 3, step, None)
    return pl.pallas_call(
        kernel, in_specs=[pl.BlockSpec(memory_space=pl.ANY)], out_shape=like((96, x.shape[2])),
        scratch_shapes=[pltpu.VMEM((1, 32, x.shape[2]), x.dtype), pltpu.SemaphoreType.DMA],
        interpret=interpret)(x)


def word(x, interpret=False):
    """A sum over all blocks in one word of SMEM, and as a result."""
    def kernel(x_ref, o_ref, acc):
        @pl.when(pl.program_id(0) == 0)
        def _():
            acc[0] = 0.5
        acc[0] -= jnp.sum(x_ref[...] * 2.0)

        @pl.when(pl.program_id(0) == pl.num_programs(0) - 1)
        def _():
            o_ref[0] = acc[0] * 3.0
    return pl.pallas_call(kernel, out_shape=like((1,)), grid=(3,),
                          in_specs=[pl.BlockSpec((16, 256), lambda i: (i, 0))],
                          out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
                          scratch_shapes=[pltpu.SMEM((1,), F32)], interpret=interpret)(x)


KERNELS = [
    ("add", add, [like((48, 256)), like((48, 256))], 1e-6),
    ("softmax", softmax, [like((64, 384))], 3e-5),
    ("matmul", matmul, [like((128, 256), BF16), like((256, 128), BF16)], 2e-2),
    ("matmul_f32", matmul, [like((64, 128)), like((128, 256))], 2e-2),
    ("overhang", overhang, [like((56, 200))], 3e-5),
    ("gather_blocks", gather_blocks, [like((5,), I32), like((64, 128))], 1e-6),
    ("copies", copies, [like((80, 128))], 1e-6),
    ("flash", flash, [like((2, 256, 128), BF16)] * 3, 2e-2),
    ("masks", masks, [like((40, 128))], 1e-6),
    ("column_sums", column_sums, [like((52, 256))], 3e-5),
    ("loop_carry", loop_carry, [like((64, 128))], 1e-5),
    ("layernorm", layernorm, [like((32, 256), BF16), like((1, 256))], 2e-2),
    ("conditional", conditional, [like((32, 128))], 1e-6),
    ("batched", batched, [like((2, 16, 64)), like((2, 64, 128))], 2e-2),
    ("transposed", transposed, [like((128, 256), BF16)], 1e-6),
    ("in_place", in_place, [like((64, 128)), like((64, 128))], 1e-6),
    ("in_place_parts", in_place_parts, [like((64, 128)), like((16, 128))], 1e-6),
    ("narrow", narrow, [like((20, 100))], 1e-5),
    ("word", word, [like((48, 256))], 1e-5),
    ("matmul_wide", functools.partial(matmul, bm=16, bk=128, bn=1280),
     [like((32, 256), BF16), like((256, 1280), BF16)], 2e-2),
    ("zeros_first", zeros_first, [like((16, 256), BF16), like((128, 1280), BF16)], 2e-2),
    ("deep", deep, [like((32, 1536), BF16), like((1536, 128), BF16)], 2e-2),
    ("scores", scores, [like((64, 96)), like((200, 96)), like((200, 96))], 2e-2),
    ("turned", turned, [like((128, 64), BF16), like((128, 256), BF16)], 2e-2),
    ("halves", halves, [like((24, 256))], 1e-6),
    ("last_block", last_block, [like((2, 72, 256), BF16)], 1e-6),
    ("rounds", rounds, [like((256, 128), BF16), like((512, 128), BF16)], 2e-2),
    # held against the host alone: values would be a megabyte
    ("key_parts", key_parts, [like((2048, 128), BF16)] + [like((640, 128), BF16)] * 2, None),
]

"""Buffers of few rows an index, seen as rows of all indices: pages of keys and values of few heads; and
loads and stores of one row of each index, as a head of all tokens is.

A TPU has no padding between such indices, so a reference may be reshaped across them. JAX's interpret
mode does not reshape references: WANTED has what the kernels should make.
"""
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from common import ANY, BF16, F32, FP8, I32, SMEM, VMEM, call, like

PAGES, SLOTS = 3, 8                     # pages of a block, tokens of a page


def fetched(pages_ref, buffer, table_ref, sems, block, slot):
    """the copies of a block's pages into half a buffer"""
    return [pltpu.make_async_copy(pages_ref.at[table_ref[block * PAGES + i]], buffer.at[slot, i],
                                  sems.at[slot]) for i in range(PAGES)]


def over_blocks(use, out):
    """`use` of each block's rows, all heads one after the other, and its number"""
    def f(table, pages):
        blocks, heads = table.shape[0] // PAGES, pages.shape[2]

        def kernel(table_ref, pages_ref, o_ref, buffer, sems):
            o_ref[...] = jnp.zeros_like(o_ref)
            for copy in fetched(pages_ref, buffer, table_ref, sems, 0, 0):
                copy.start()

            @pl.loop(0, blocks)
            def _(i):
                slot = i % 2

                @pl.when(i + 1 < blocks)
                def _():
                    for copy in fetched(pages_ref, buffer, table_ref, sems, i + 1, 1 - slot):
                        copy.start()
                for copy in fetched(pages_ref, buffer, table_ref, sems, i, slot):
                    copy.wait()
                use(buffer.at[slot].reshape(PAGES * SLOTS * heads, 128), heads, i, o_ref)
        return call(kernel, out, in_specs=[SMEM, ANY], out_specs=VMEM,
                    scratch_shapes=[pltpu.VMEM((2, PAGES, SLOTS, heads, 128), pages.dtype),
                                    pltpu.SemaphoreType.DMA((2,))])(table, pages)
    return f


def sum_of_head(rows, heads, i, o_ref):
    """f32: each head's rows by a stride"""
    for h in range(heads):
        o_ref[h] += rows[h::heads, :] * (i + 1).astype(F32)


def sum_of_pairs(rows, heads, i, o_ref):
    """bf16: two heads in a word, taken apart by shifts"""
    words = rows.bitcast(jnp.uint32)
    for h in range(heads // 2):
        w = words[h::heads // 2, :]
        o_ref[2 * h] += pltpu.bitcast(w << 16, F32)
        o_ref[2 * h + 1] += pltpu.bitcast(w & jnp.uint32(0xFFFF0000), F32)


def product_of_all(rows, heads, i, o_ref):
    """all heads' rows at once, as the weights of a product"""
    ones = (lax.broadcasted_iota(I32, (8, rows.shape[0]), 1) % heads == 0).astype(BF16)
    o_ref[...] += jnp.dot(ones, rows[...].astype(BF16), preferred_element_type=F32)


def rows_of_blocks(table, pages):
    """[blocks, rows of a block, heads, 128] as f32"""
    return pages[table].astype(F32).reshape(-1, PAGES * SLOTS, *pages.shape[2:])


def heads_weighed(table, pages):
    rows = rows_of_blocks(table, pages)
    return jnp.einsum("brhd,b->hrd", rows, 1 + jnp.arange(rows.shape[0], dtype=F32))


def heads_summed(table, pages):
    return jnp.einsum("brhd->hrd", rows_of_blocks(table, pages))


def first_heads(table, pages):
    return jnp.broadcast_to(jnp.einsum("brd->d", rows_of_blocks(table, pages)[:, :, 0]), (8, 128))


def each(heads):
    return like((heads, PAGES * SLOTS, 128))


def given(heads, dtype):
    return [like((6,), I32), like((9, SLOTS, heads, 128), dtype)]


def rope_heads(x, cos, sin):
    """pairs of lanes turned, head by head, of tokens that are no whole tiles"""
    tokens, heads, _ = x.shape

    def kernel(x_ref, c_ref, s_ref, o_ref):
        for h in range(heads):
            v = x_ref[:, h].astype(F32)
            is_even = lax.broadcasted_iota(I32, v.shape, 1) % 2 == 0
            turned = jnp.where(is_even, -pltpu.roll(v, 127, 1), pltpu.roll(v, 1, 1))
            o_ref[:, h] = (v * c_ref[...] + turned * s_ref[...]).astype(o_ref.dtype)
    return call(kernel, like(x.shape, x.dtype))(x, cos, sin)


def rope_given(tokens, heads, dtype):
    return [like((tokens, heads, 128), dtype), like((tokens, 128)), like((tokens, 128))]


PAGES_CASES = [
    ("pages_f32_2", over_blocks(sum_of_head, each(2)), given(2, F32)),
    ("pages_f32_4", over_blocks(sum_of_head, each(4)), given(4, F32)),
    ("pages_bf16_2", over_blocks(sum_of_pairs, each(2)), given(2, BF16)),
    ("pages_bf16_4", over_blocks(sum_of_pairs, each(4)), given(4, BF16)),
    ("pages_bf16_8", over_blocks(sum_of_pairs, each(8)), given(8, BF16)),
    ("pages_all_4", over_blocks(product_of_all, like((8, 128))), given(4, BF16)),
    ("pages_fp8_8", over_blocks(product_of_all, like((8, 128))), given(8, FP8)),
]

HEADS_CASES = [
    ("rope_heads", rope_heads, rope_given(100, 4, BF16)),
    ("rope_heads_f32", rope_heads, rope_given(37, 3, F32)),
    ("rope_heads_many", rope_heads, rope_given(24, 20, BF16)),
]
CASES = PAGES_CASES + HEADS_CASES
WANTED = {name: heads_weighed if "f32" in name else
          heads_summed if "bf16" in name else first_heads for name, *_ in PAGES_CASES}

"""Kernels of the kinds whose blocks two public servers have tuned, written anew from a description of what
they compute: dense attention of a video model, products of quantized operands, attention over pages.

Each function takes its blocks as parameters, under the names of the tables; NAME_shapes(arguments) gives
its arrays for a row's arguments, NAME_candidates(arguments) the blocks to try.
"""
import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F32, BF16, I32 = jnp.float32, jnp.bfloat16, jnp.int32
TYPES = {"float32": F32, "bfloat16": BF16, "int8": jnp.int8}


def like(shape, dtype):
    return jax.ShapeDtypeStruct(tuple(shape), dtype)


def divisors(n, choices):
    return sorted({c for c in choices if c <= n and n % c == 0})


# dense attention: keys and values of a head stand in VMEM, and a block of queries meets all of them at
# once, as JAX's flash attention does where a block of keys is all of them

def flash_attention_multimodal(q, k, v, queries_per_block=256):
    batch, heads, length, depth = q.shape
    rows, keys = queries_per_block, k.shape[2]

    def kernel(q_ref, k_ref, v_ref, o_ref):
        s = jax.lax.dot_general(q_ref[0, 0], k_ref[0, 0], (((1,), (1,)), ((), ())),
                                preferred_element_type=F32) * depth ** -0.5
        p = jnp.exp(s - jnp.max(s, axis=1, keepdims=True))
        total = jnp.sum(p, axis=1, keepdims=True)
        out = jnp.dot(p.astype(BF16), v_ref[0, 0], preferred_element_type=F32)
        o_ref[0, 0] = (out / total).astype(o_ref.dtype)
    whole = pl.BlockSpec((1, 1, keys, depth), lambda b, h, i: (b, h, 0, 0))
    block = pl.BlockSpec((1, 1, rows, depth), lambda b, h, i: (b, h, i, 0))
    return pl.pallas_call(
        kernel, grid=(batch, heads, pl.cdiv(length, rows)), in_specs=[block, whole, whole],
        out_specs=block, out_shape=like(q.shape, v.dtype),
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary")))(q, k, v)


def flash_attention_multimodal_shapes(a):
    rows = (a["batch"], a["heads"])
    keys = (*rows, a["kv_len"], a["head_dim"])
    return [like((*rows, a["q_len"], a["head_dim"]), TYPES[a["q_dtype"]]),
            like(keys, TYPES[a["k_dtype"]]), like(keys, TYPES[a["v_dtype"]])]


def flash_attention_multimodal_candidates(a):
    for queries in (64, 128, 256, 512, 1024, 2048):     # the last block may overhang
        yield {"queries_per_block": queries}


# products of int8, scaled by row and by column at the end

def quantized_matmul(x, w, x_scale, w_scale, batch_block=128, out_block=512, in_block=512):
    (batch, depth), features = x.shape, w.shape[0]
    steps = depth // in_block

    def kernel(x_ref, w_ref, xs_ref, ws_ref, o_ref, acc_ref):
        def finish(total):
            o_ref[...] = (total.astype(F32) * xs_ref[...] * ws_ref[...]).astype(o_ref.dtype)
        part = jax.lax.dot_general(x_ref[...], w_ref[...], (((1,), (1,)), ((), ())),
                                   preferred_element_type=I32)
        if steps == 1:
            finish(part)
            return

        @pl.when(pl.program_id(2) == 0)
        def _():
            acc_ref[...] = part

        @pl.when(pl.program_id(2) > 0)
        def _():
            acc_ref[...] += part

        @pl.when(pl.program_id(2) == steps - 1)
        def _():
            finish(acc_ref[...])
    return pl.pallas_call(
        kernel, grid=(batch // batch_block, features // out_block, steps),
        in_specs=[pl.BlockSpec((batch_block, in_block), lambda b, o, i: (b, i)),
                  pl.BlockSpec((out_block, in_block), lambda b, o, i: (o, i)),
                  pl.BlockSpec((batch_block, 1), lambda b, o, i: (b, 0)),
                  pl.BlockSpec((1, out_block), lambda b, o, i: (0, o))],
        out_specs=pl.BlockSpec((batch_block, out_block), lambda b, o, i: (b, o)),
        out_shape=like((batch, features), BF16),
        scratch_shapes=[pltpu.VMEM((batch_block, out_block) if steps > 1 else (8, 128), I32)],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary")))(x, w, x_scale, w_scale)


def quantized_matmul_shapes(a):
    return [like((a["n_batch"], a["n_in"]), jnp.int8), like((a["n_out"], a["n_in"]), jnp.int8),
            like((a["n_batch"], 1), F32), like((1, a["n_out"]), F32)]


def quantized_matmul_candidates(a):
    batches = divisors(a["n_batch"], (16, 32, 64, 128, 256, 512, 1024, 2048))[-4:]
    outs = divisors(a["n_out"], (256, 512, 1024, 2048, a["n_out"] // 2, a["n_out"]))
    ins = divisors(a["n_in"], (256, 512, 1024, a["n_in"] // 2, a["n_in"]))
    for batch in batches:
        for out in outs:
            for depth in ins:
                if out % 128 == 0 and depth % 128 == 0:
                    yield {"batch_block": batch, "out_block": out, "in_block": depth}


# attention over pages: blocks of queries of sequences that fill the batch, pages fetched one by one

def ragged_paged_attention_v2(pages, q, kv, sequences=1, length=64, queries_per_block=32,
                              kv_pages_per_block=4):
    """q [kv_heads, tokens, group * depth], kv [pages, 2 * kv_heads, page, depth]; the sequences lie one
    after the other, `length` tokens each, the last of which are the queries."""
    kv_heads, tokens, wide = q.shape
    page, depth = kv.shape[2], kv.shape[3]
    group = wide // depth
    queries = tokens // sequences
    blocks = queries // queries_per_block
    span = page * kv_pages_per_block
    rows = queries_per_block * group
    pages_each = length // page

    def kernel(pages_ref, q_ref, kv_hbm, o_ref, k_buf, v_buf, m_ref, l_ref, acc_ref, sems):
        head, sequence, block = pl.program_id(0), pl.program_id(1), pl.program_id(2)
        last = length - queries + (block + 1) * queries_per_block     # keys that its last query sees
        steps = (last + span - 1) // span

        def copies(step, slot):
            for i in range(kv_pages_per_block):
                at = jnp.minimum(step * kv_pages_per_block + i, pages_each - 1)
                number = pages_ref[sequence * pages_each + at]
                yield pltpu.make_async_copy(kv_hbm.at[number, head], k_buf.at[slot, i],
                                            sems.at[slot, 0])
                yield pltpu.make_async_copy(kv_hbm.at[number, head + kv_heads],
                                            v_buf.at[slot, i], sems.at[slot, 1])

        def start(step, slot):
            for copy in copies(step, slot):
                copy.start()
        m_ref[...] = jnp.full_like(m_ref, -1e30)
        l_ref[...] = jnp.zeros_like(l_ref)
        acc_ref[...] = jnp.zeros_like(acc_ref)
        start(0, 0)

        def body(step, _):
            slot = jax.lax.rem(step, 2)

            @pl.when(step + 1 < steps)
            def _():
                start(step + 1, 1 - slot)
            for copy in copies(step, slot):
                copy.wait()
            k = k_buf[slot].reshape(span, depth)
            v = v_buf[slot].reshape(span, depth)
            s = jax.lax.dot_general(q_ref[0], k, (((1,), (1,)), ((), ())),
                                    preferred_element_type=F32) * depth ** -0.5
            key = step * span + jax.lax.broadcasted_iota(I32, s.shape, 1)
            query = (length - queries + block * queries_per_block +
                     jax.lax.broadcasted_iota(I32, s.shape, 0) // group)
            s = jnp.where(key <= query, s, -1e30)
            m = jnp.maximum(m_ref[...], jnp.max(s, axis=1, keepdims=True))
            p = jnp.exp(s - m[:, :1])
            alpha = jnp.exp(m_ref[...] - m)
            l_ref[...] = alpha * l_ref[...] + jnp.sum(p, axis=1, keepdims=True)
            acc_ref[...] = alpha * acc_ref[...] + jnp.dot(p.astype(BF16), v,
                                                          preferred_element_type=F32)
            m_ref[...] = m
            return ()
        jax.lax.fori_loop(0, steps, body, ())
        o_ref[0] = (acc_ref[...] / l_ref[...]).astype(o_ref.dtype)
    q = q.reshape(kv_heads, tokens * group, depth)
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(kv_heads, sequences, blocks),
        in_specs=[pl.BlockSpec((1, rows, depth), lambda h, s, b, pages: (h, s * blocks + b, 0)),
                  pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec((1, rows, depth), lambda h, s, b, pages: (h, s * blocks + b, 0)),
        scratch_shapes=[pltpu.VMEM((2, kv_pages_per_block, page, depth), BF16)] * 2 +
        [pltpu.VMEM((rows, 128), F32)] * 2 +
        [pltpu.VMEM((rows, depth), F32), pltpu.SemaphoreType.DMA((2, 2))])
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=like(q.shape, BF16))(pages, q, kv)


def paged_lengths(a):
    """sequences that fill the batch, tokens of each, queries among them"""
    length = a["max_model_len"]
    queries = min(length, a["max_num_batched_tokens"])
    return max(a["max_num_batched_tokens"] // length, 1), length, queries


def ragged_paged_attention_v2_shapes(a):
    sequences, length, queries = paged_lengths(a)
    pages = sequences * (length // a["page_size"])
    group = a["q_heads"] // a["kv_heads"]
    return [like((pages,), I32),
            like((a["kv_heads"], sequences * queries, group * a["head_dim"]), BF16),
            like((pages, 2 * a["kv_heads"], a["page_size"], a["head_dim"]), BF16)]


def ragged_paged_attention_v2_candidates(a):
    sequences, length, queries = paged_lengths(a)
    pages = length // a["page_size"]
    for per_block in divisors(pages, (1, 2, 4, 8, 16, 32)):
        for block in divisors(queries, (16, 32, 64, 128, 256)):
            yield {"kv_pages_per_block": per_block, "queries_per_block": block,
                   "sequences": sequences, "length": length}


def bound(name, parameters):
    return functools.partial(globals()[name], **parameters)

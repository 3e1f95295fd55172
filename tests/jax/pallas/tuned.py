"""Kernels of the kinds whose blocks two public servers have tuned, written anew from a description of what
they compute: dense attention of a video model, products of quantized operands, attention over pages.

Each function takes its blocks as parameters, under the names of the tables; NAME_shapes(arguments) gives
its arrays for a row's arguments, NAME_candidates(arguments) the blocks to try.
"""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F32, BF16, I32 = jnp.float32, jnp.bfloat16, jnp.int32
LEAST = -1e30       # a score that nobody sees
SEQUENCES, PAGES = 35, 1000
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


# products of int8: activations come as bf16 and are quantized by row where a block of them is first met;
# what is kept of them is multiplied with later blocks of outputs

def quantized_matmul(x, w, x_most, w_scale, batch_block=128, out_block=512, in_block=512):
    """x [batch, in] bf16, w [out, in] int8, x_most [batch, 1] the largest magnitude of each row"""
    (batch, depth), features = x.shape, w.shape[0]
    steps, outs = depth // in_block, features // out_block
    is_kept = steps == 1 and outs > 1

    def kernel(x_ref, w_ref, most_ref, ws_ref, o_ref, acc_ref, kept_ref):
        def quantize():
            rows = x_ref[...].astype(F32) * (127.0 / most_ref[...])
            return jnp.round(rows).astype(jnp.int8)

        def finish(total):
            scale = most_ref[...] * (1 / 127.0)
            o_ref[...] = (total.astype(F32) * ws_ref[...] * scale).astype(o_ref.dtype)
        if is_kept:
            @pl.when(pl.program_id(1) == 0)
            def _():
                kept_ref[...] = quantize()

        def one(is_first, is_last):
            rows = kept_ref[...] if is_kept else quantize()
            total = jax.lax.dot_general(rows, w_ref[...], (((1,), (1,)), ((), ())),
                                        preferred_element_type=I32)
            if not is_first:
                total = acc_ref[...] + total
            if is_last:
                finish(total)
            else:
                acc_ref[...] = total
        if steps == 1:
            one(True, True)
            return
        step = pl.program_id(2)
        pl.when(step == 0)(lambda: one(True, False))
        pl.when((step > 0) & (step < steps - 1))(lambda: one(False, False))
        pl.when(step == steps - 1)(lambda: one(False, True))
    return pl.pallas_call(
        kernel, grid=(batch // batch_block, outs, steps),
        in_specs=[pl.BlockSpec((batch_block, in_block), lambda b, o, i: (b, i)),
                  pl.BlockSpec((out_block, in_block), lambda b, o, i: (o, i)),
                  pl.BlockSpec((batch_block, 1), lambda b, o, i: (b, 0)),
                  pl.BlockSpec((1, out_block), lambda b, o, i: (0, o))],
        out_specs=pl.BlockSpec((batch_block, out_block), lambda b, o, i: (b, o)),
        out_shape=like((batch, features), BF16),
        scratch_shapes=[pltpu.VMEM((batch_block, out_block) if steps > 1 else (8, 128), I32),
                        pltpu.VMEM((batch_block, in_block) if is_kept else (32, 128), jnp.int8)],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "arbitrary", "arbitrary")))(x, w, x_most, w_scale)


def quantized_matmul_shapes(a):
    return [like((a["n_batch"], a["n_in"]), BF16), like((a["n_out"], a["n_in"]), jnp.int8),
            like((a["n_batch"], 1), F32), like((1, a["n_out"]), F32)]


def multiples_that_divide(n, unit):
    """the tuner's rule: all multiples of the unit, of which few are as good as the largest"""
    return [c for c in range(unit, n + 1, unit) if n % c == 0]


def quantized_matmul_candidates(a):
    """multiples of 128 that divide, as the tuner had them; of each power of two the largest"""
    def few(n):
        found = {}
        for c in multiples_that_divide(n, 128):
            if c >= 256 or c == n:
                found[c.bit_length()] = c
        return sorted(found.values())
    batches = few(a["n_batch"]) if a["n_batch"] >= 128 else [a["n_batch"]]
    for batch in batches:
        for out in few(a["n_out"]):
            for depth in few(a["n_in"]):
                yield {"batch_block": batch, "out_block": out, "in_block": depth}


# attention over pages: queries of all sequences lie one after the other, a block of them meets each of
# its sequences' keys and values, whose pages are fetched one by one, a block ahead

def ragged_paged_attention_v2(starts, lengths, pages, q, kv, queries_per_block=32,
                              kv_pages_per_block=4, tokens=64, group=1):
    """starts [sequences + 1], where each one's queries begin, the last of them `tokens`; lengths
    [sequences] of keys; pages [sequences, most]; q [kv_heads, room * group, depth], kv [pages,
    2 * kv_heads, page, depth]"""
    (sequences,), heads, depth = lengths.shape, q.shape[0], q.shape[2]
    page, each = kv.shape[2], pages.shape[1]
    span, rows = page * kv_pages_per_block, queries_per_block * group

    def kernel(starts_ref, lengths_ref, pages_ref, q_ref, kv_hbm, o_ref, kv_buf, m_ref, l_ref,
               acc_ref, now_ref, sems):
        """now_ref: the sequence, and which of the two buffers has its first keys"""
        first = pl.program_id(0) * queries_per_block
        end = first + queries_per_block

        def copies(sequence, step, slot):
            for i in range(kv_pages_per_block):
                at = jnp.minimum(step * kv_pages_per_block + i, each - 1)
                yield pltpu.make_async_copy(kv_hbm.at[pages_ref[sequence, at]],
                                            kv_buf.at[slot, :, pl.ds(i * page, page)], sems.at[slot])

        def fetch(sequence, step, slot):
            for copy in copies(sequence, step, slot):
                copy.start()

        @pl.when(pl.program_id(0) == 0)
        def _():
            now_ref[0], now_ref[1] = 0, 0
            fetch(0, 0, 0)
        m_ref[...] = jnp.full_like(m_ref, LEAST)
        l_ref[...] = jnp.zeros_like(l_ref)
        acc_ref[...] = jnp.zeros_like(acc_ref)

        def attend(sequence, step, slot):
            start, stop = starts_ref[sequence], starts_ref[sequence + 1]
            length = lengths_ref[sequence]
            token = first + jax.lax.broadcasted_iota(I32, (rows, span), 0) // group
            key = step * span + jax.lax.broadcasted_iota(I32, (rows, span), 1)
            seen = (token >= start) & (token < stop) & (key <= length - stop + token)
            for head in range(heads):
                k, v = kv_buf[slot, head], kv_buf[slot, heads + head]
                s = jax.lax.dot_general(q_ref[head], k, (((1,), (1,)), ((), ())),
                                        preferred_element_type=F32) * depth ** -0.5
                s = jnp.where(seen, s, LEAST)
                m = jnp.maximum(m_ref[head], jnp.max(s, axis=1, keepdims=True))
                p = jnp.where(seen, jnp.exp(s - m[:, :1]), 0.0)
                alpha = jnp.exp(m_ref[head] - m)
                l_ref[head] = alpha * l_ref[head] + jnp.sum(p, axis=1, keepdims=True)
                acc_ref[head] = alpha * acc_ref[head] + jnp.dot(p.astype(BF16), v,
                                                                preferred_element_type=F32)
                m_ref[head] = m

        def one_sequence(state):
            sequence, slot, _ = state
            stop = starts_ref[sequence + 1]
            steps = (lengths_ref[sequence] + span - 1) // span
            # behind its last keys come those of the next one, or its own for the next block
            is_done = stop <= end
            following = jnp.where(is_done, sequence + 1, sequence)

            def body(step, _):
                here = jax.lax.rem(slot + step, 2)
                is_last = step + 1 == steps
                then = jnp.where(is_last, following, sequence)

                @pl.when(then < sequences)
                def _():
                    fetch(then, jnp.where(is_last, 0, step + 1), 1 - here)
                for copy in copies(sequence, step, here):
                    copy.wait()
                attend(sequence, step, here)
                return ()
            jax.lax.fori_loop(0, steps, body, ())
            return following, jax.lax.rem(slot + steps, 2), stop < end

        def goes_on(state):
            return state[2] & (state[0] < sequences)
        sequence, slot, _ = jax.lax.while_loop(goes_on, one_sequence, (now_ref[0], now_ref[1], True))
        now_ref[0], now_ref[1] = sequence, slot
        o_ref[...] = (acc_ref[...] / jnp.maximum(l_ref[...], 1e-30)).astype(o_ref.dtype)
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=3, grid=(pl.cdiv(tokens, queries_per_block),),
        in_specs=[pl.BlockSpec((heads, rows, depth), lambda b, *tables: (0, b, 0)),
                  pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec((heads, rows, depth), lambda b, *tables: (0, b, 0)),
        scratch_shapes=[pltpu.VMEM((2, 2 * heads, span, depth), BF16)] +
        [pltpu.VMEM((heads, rows, 128), F32)] * 2 +
        [pltpu.VMEM((heads, rows, depth), F32), pltpu.SMEM((2,), I32),
         pltpu.SemaphoreType.DMA((2,))])
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=like(q.shape, BF16))(
        starts, lengths, pages, q, kv)


def ragged_lengths(a):
    """the batch that the public tuner of this kernel measures: 34 sequences with one query and one
    with the rest of a sequence's length, all of which have as many keys as one may have"""
    tokens = min(a["max_num_batched_tokens"], a["max_model_len"])
    return list(range(SEQUENCES)) + [tokens], [a["max_model_len"]] * SEQUENCES, tokens


def ragged_paged_attention_v2_shapes(a):
    each = -(-a["max_model_len"] // a["page_size"])
    group = a["q_heads"] // a["kv_heads"]
    return [like((SEQUENCES + 1,), I32), like((SEQUENCES,), I32), like((SEQUENCES, each), I32),
            like((a["kv_heads"], a["max_num_batched_tokens"] * group, a["head_dim"]), BF16),
            like((PAGES, 2 * a["kv_heads"], a["page_size"], a["head_dim"]), BF16)]


def ragged_paged_attention_v2_inputs(a):
    starts, lengths, _ = ragged_lengths(a)
    each = -(-a["max_model_len"] // a["page_size"])
    pages = np.random.default_rng(1).integers(0, PAGES, (SEQUENCES, each))
    return [np.array(x, np.int32) for x in (starts, lengths, pages)]


def ragged_paged_attention_v2_candidates(a):
    for per_block in (4, 8, 16, 32, 64, 128):
        if per_block * a["page_size"] <= a["max_model_len"]:
            for block in (32, 64, 128, 256):
                yield {"kv_pages_per_block": per_block, "queries_per_block": block,
                       "tokens": ragged_lengths(a)[2], "group": a["q_heads"] // a["kv_heads"]}


def bound(name, parameters):
    return functools.partial(globals()[name], **parameters)

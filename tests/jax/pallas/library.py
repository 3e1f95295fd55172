"""Kernels of jax.experimental.pallas.ops.tpu, called on small arrays.

CASES lists (name, function, shapes of arguments): what JAX itself ships for the TPU, so that a list
of what runs and what is refused can be made (../count_pallas.py). ARGUMENTS are those that cannot be
drawn: sizes of groups, pages, lengths.
"""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas.ops.tpu import all_gather, flash_attention, matmul
from jax.experimental.pallas.ops.tpu.megablox.gmm import gmm, tgmm
from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention_kernel
from jax.experimental.pallas.ops.tpu.ragged_paged_attention import kernel as ragged
from jax.experimental.pallas.ops.tpu.random import philox, threefry
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks

F32, BF16, I32, U32, I8 = jnp.float32, jnp.bfloat16, jnp.int32, jnp.uint32, jnp.int8


def like(shape, dtype=F32):
    return jax.ShapeDtypeStruct(shape, dtype)


def flash(causal=False, segments=False):
    def f(q, k, v):
        ids = None
        if segments:
            which = jnp.arange(q.shape[2])[None] // 100
            ids = flash_attention.SegmentIds(which, which)
        sizes = flash_attention.BlockSizes(
            block_q=128, block_k_major=128, block_k=128, block_b=1, block_q_major_dkv=128,
            block_k_major_dkv=128, block_k_dkv=128, block_q_dkv=128, block_k_major_dq=128,
            block_k_dq=128, block_q_dq=128)
        return flash_attention.flash_attention(q, k, v, segment_ids=ids, causal=causal,
                                               sm_scale=0.1, block_sizes=sizes)
    return f


def gradient(f):
    def g(*args):
        total = lambda *x: jnp.sum(f(*x).astype(F32) ** 2)  # noqa: E731
        return jax.grad(total, argnums=tuple(range(len(args))))(*args)
    return g


def splash_of(mask, fused=False, one_head=False):
    sizes = splash.BlockSizes(
        block_q=128, block_kv=128, block_kv_compute=128, block_q_dkv=128, block_kv_dkv=128,
        block_kv_dkv_compute=128, block_q_dq=None if fused else 128,
        block_kv_dq=None if fused else 128, use_fused_bwd_kernel=fused)

    def f(q, k, v):
        made = masks.MultiHeadMask([mask((q.shape[1], k.shape[-2]))] * q.shape[0])
        make = splash.make_splash_mqa if one_head else splash.make_splash_mha
        kernel = make(made, head_shards=1, q_seq_shards=1, block_sizes=sizes)
        return kernel(q, k, v)
    return f


def local(shape):
    return masks.LocalMask(shape, (64, 64), 0)


def drawn(shape):
    return masks.NumpyMask(np.random.default_rng(3).random(shape) < 0.5)


def paged(**settings):
    return functools.partial(paged_attention_kernel.paged_attention, pages_per_compute_block=2,
                             **settings)


def gathered(x):
    mesh = jax.sharding.Mesh(jax.devices()[:4], ("x",))
    return all_gather.all_gather(x, mesh=mesh, axis_name="x")


def by_blocks(x, y):
    return matmul.matmul(x, y, block_shape=(128, 128), block_k=128)


QKV = [like((1, 2, 256, 128), BF16)] * 3
SPLASH = [like((2, 256, 128), BF16)] * 3
PAGED = [like((2, 8, 128)), like((2, 16, 16, 128)), like((2, 16, 16, 128)), like((2,), I32),
         like((2, 8), I32)]
RAGGED = [like((64, 8, 128), BF16), like((16, 16, 4, 128), BF16), like((4,), I32),
          like((4, 4), I32), like((5,), I32), like((1,), I32)]

CASES = [
    ("all_gather", gathered, [like((64, 128))]),
    ("flash_attention", flash(), QKV),
    ("flash_attention_causal", flash(causal=True), QKV),
    ("flash_attention_segments", flash(segments=True), QKV),
    ("flash_attention_backward", gradient(flash(causal=True)), QKV),
    ("matmul_bf16", by_blocks, [like((256, 256), BF16)] * 2),
    ("matmul_f32", by_blocks, [like((256, 256))] * 2),
    ("matmul_int8", by_blocks, [like((256, 256), I8)] * 2),
    ("megablox_gmm", gmm, [like((512, 256), BF16), like((4, 256, 128), BF16),
                               like((4,), I32)]),
    ("megablox_gmm_transposed", functools.partial(gmm, transpose_rhs=True),
     [like((512, 256), BF16), like((4, 128, 256), BF16), like((4,), I32)]),
    ("megablox_tgmm", tgmm, [like((256, 512), BF16), like((512, 128), BF16),
                                 like((4,), I32)]),
    ("paged_attention", paged(), PAGED),
    ("paged_attention_grid", paged(inline_seq_dim=False), PAGED),
    ("ragged_paged_attention", functools.partial(
        ragged.ragged_paged_attention, num_kv_pages_per_block=2, num_queries_per_block=16), RAGGED),
    ("philox", lambda key: philox.philox_random_bits(key, 32, (512, 1024)), [like((2,), U32)]),
    ("threefry", lambda key: threefry.plthreefry_random_bits(key, 32, (512, 1024)),
     [like((2,), U32)]),
    ("splash_causal", splash_of(masks.CausalMask), SPLASH),
    ("splash_local", splash_of(local), SPLASH),
    ("splash_drawn_mask", splash_of(drawn), SPLASH),
    ("splash_one_kv_head", splash_of(masks.CausalMask, one_head=True),
     [like((4, 256, 128), BF16)] + [like((256, 128), BF16)] * 2),
    ("splash_backward", gradient(splash_of(masks.CausalMask)), SPLASH),
    ("splash_backward_fused", gradient(splash_of(masks.CausalMask, fused=True)), SPLASH),
]

GROUPS = {2: [100, 156, 0, 256]}
PAGES = {3: [100, 37], 4: [list(range(8)), list(range(15, 7, -1))]}
ARGUMENTS = {
    "megablox_gmm": GROUPS,
    "megablox_gmm_transposed": GROUPS,
    "megablox_tgmm": GROUPS,
    "paged_attention": PAGES,
    "paged_attention_grid": PAGES,
    "ragged_paged_attention": {2: [40, 64, 17, 50], 3: [list(range(i, 16, 4)) for i in range(4)],
                               4: [0, 1, 33, 50, 64], 5: [4]},
}

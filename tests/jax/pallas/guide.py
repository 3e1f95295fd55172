"""Kernels of the kinds that the documentation of Pallas for the TPU tells of, written anew: pipelines,
products, sparse blocks, exchanges between devices, both cores, random numbers.

CASES lists (name, function, shapes of arguments) as library.py does.
"""
import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import PartitionSpec as P

F32, BF16, I32, U32, I8 = jnp.float32, jnp.bfloat16, jnp.int32, jnp.uint32, jnp.int8
HBM = pl.BlockSpec(memory_space=pl.ANY)
DEVICES = 4


def like(shape, dtype=F32):
    return jax.ShapeDtypeStruct(shape, dtype)


# pipelining

def inner_pipeline(x, y):
    """A pipeline inside the kernel, over arrays that stay in HBM."""
    def body(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] * y_ref[...]

    def kernel(x_hbm, y_hbm, o_hbm):
        block = pl.BlockSpec((32, 128), lambda i: (i, 0))
        pltpu.emit_pipeline(body, grid=(x_hbm.shape[0] // 32,), in_specs=[block, block],
                            out_specs=[block])(x_hbm, y_hbm, o_hbm)
    return pl.pallas_call(kernel, out_shape=like(x.shape), in_specs=[HBM, HBM], out_specs=HBM)(x, y)


def buffers_three(x):
    """A window of three buffers."""
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1.0

    def kernel(x_hbm, o_hbm):
        pltpu.emit_pipeline(
            body, grid=(8,),
            in_specs=[pl.BlockSpec((16, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(3))],
            out_specs=[pl.BlockSpec((16, 128), lambda i: (i, 0))])(x_hbm, o_hbm)
    return pl.pallas_call(kernel, out_shape=like(x.shape), in_specs=[HBM], out_specs=HBM)(x)


def accumulate(x):
    """An output block that stays over a dimension of the grid."""
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)
        o_ref[...] += x_ref[0]
    return pl.pallas_call(
        kernel, grid=(2, x.shape[0]), out_shape=like(x.shape[1:]),
        in_specs=[pl.BlockSpec((1, 64, 128), lambda j, i: (i, j, 0))],
        out_specs=pl.BlockSpec((64, 128), lambda j, i: (j, 0)))(x)


def element_windows(x):
    """Windows by elements, which overlap."""
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[0:8] + x_ref[8:16]
    return pl.pallas_call(
        kernel, grid=(6,), out_shape=like((48, 128)),
        in_specs=[pl.BlockSpec((pl.Element(16), pl.Element(128)), lambda i: (i * 8, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)))(x)


# products

def product(x, y, transposed=False, activation=None, sums=F32):
    def kernel(x_ref, y_ref, o_ref, acc):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)
        numbers = (((1,), (1 if transposed else 0,)), ((), ()))
        acc[...] += jax.lax.dot_general(x_ref[...], y_ref[...], numbers,
                                        preferred_element_type=sums)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            z = acc[...] if activation is None else activation(acc[...])
            o_ref[...] = z.astype(o_ref.dtype)
    m, k = x.shape
    n = y.shape[0] if transposed else y.shape[1]
    rhs = (pl.BlockSpec((128, 128), lambda i, j, k: (j, k)) if transposed else
           pl.BlockSpec((128, 128), lambda i, j, k: (k, j)))
    return pl.pallas_call(
        kernel, grid=(m // 128, n // 128, k // 128),
        out_shape=like((m, n), x.dtype if sums == F32 else I32),
        in_specs=[pl.BlockSpec((128, 128), lambda i, j, k: (i, k)), rhs],
        out_specs=pl.BlockSpec((128, 128), lambda i, j, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((128, 128), sums)],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary")))(x, y)


def product_exact(x, y):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], y_ref[...], precision=jax.lax.Precision.HIGHEST)
    return pl.pallas_call(kernel, out_shape=like((x.shape[0], y.shape[1])))(x, y)


# sparse

def sparse_rows(which, x, y):
    """Of the left operand only the blocks that a table names."""
    def kernel(which_ref, x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        @pl.when(which_ref[pl.program_id(0), pl.program_id(1)] >= 0)
        def _():
            o_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F32)
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=which.shape,
        in_specs=[pl.BlockSpec((128, 128), lambda i, k, which: (i, jnp.maximum(which[i, k], 0))),
                  pl.BlockSpec((128, 128), lambda i, k, which: (jnp.maximum(which[i, k], 0), 0))],
        out_specs=pl.BlockSpec((128, 128), lambda i, k, which: (i, 0)))
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=like((which.shape[0] * 128, 128)))(
        which, x, y)


def dynamic_rows(start, x):
    def kernel(start_ref, x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(pl.multiple_of(start_ref[0], 8), 16), :]
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(1,),
        in_specs=[pl.BlockSpec(x.shape, lambda i, s: (0, 0))],
        out_specs=pl.BlockSpec((16, 128), lambda i, s: (0, 0)))
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=like((16, 128)))(start, x)


# exchanges

def over_devices(local):
    def exchange(x):
        mesh = jax.sharding.Mesh(jax.devices()[:DEVICES], ("x",))
        return jax.shard_map(local, mesh=mesh, in_specs=P("x"), out_specs=P("x"),
                             check_vma=False)(x)
    return exchange


def neighbours():
    me = jax.lax.axis_index("x")
    return jax.lax.rem(me + 1, DEVICES), jax.lax.rem(me + DEVICES - 1, DEVICES)


def barrier(right, left):
    sem = pltpu.get_barrier_semaphore()
    for to in (right, left):
        pl.semaphore_signal(sem, device_id=to)
    pl.semaphore_wait(sem, 2)


@over_devices
def right_permute(x):
    def kernel(x_ref, o_ref, sent, received):
        right, _ = neighbours()
        copy = pltpu.make_async_remote_copy(x_ref, o_ref, sent, received, device_id=right)
        copy.start()
        copy.wait()
    return pl.pallas_call(kernel, out_shape=like(x.shape), in_specs=[HBM], out_specs=HBM,
                          scratch_shapes=[pltpu.SemaphoreType.DMA] * 2)(x)


@over_devices
def ring_gather(x):
    def kernel(x_ref, o_ref, here, sent, received):
        me = jax.lax.axis_index("x")
        right, left = neighbours()
        barrier(right, left)
        own = pltpu.make_async_copy(x_ref, o_ref.at[me], here)
        own.start()
        own.wait()

        def step(i, _):
            which = jax.lax.rem(me - i + DEVICES, DEVICES)
            copy = pltpu.make_async_remote_copy(o_ref.at[which], o_ref.at[which], sent.at[i],
                                                received.at[i], device_id=right)
            copy.start()
            copy.wait()
            return ()
        jax.lax.fori_loop(0, DEVICES - 1, step, ())
    return pl.pallas_call(
        kernel, out_shape=like((DEVICES, *x.shape)), in_specs=[HBM], out_specs=HBM,
        scratch_shapes=[pltpu.SemaphoreType.DMA] + [pltpu.SemaphoreType.DMA((DEVICES - 1,))] * 2,
        compiler_params=pltpu.CompilerParams(collective_id=0))(x)


@over_devices
def ring_sum(x):
    """Every device's block goes once round, and is added on its way."""
    def kernel(x_ref, o_ref, buffer, sent, received, room):
        right, left = neighbours()
        barrier(right, left)
        o_ref[...] = x_ref[...]
        buffer[0] = x_ref[...]
        for i in range(DEVICES - 1):
            now, later = i % 2, (i + 1) % 2
            if i > 0:
                pl.semaphore_wait(room, 1)
            copy = pltpu.make_async_remote_copy(buffer.at[now], buffer.at[later], sent, received,
                                                device_id=right)
            copy.start()
            copy.wait()
            o_ref[...] += buffer[later]
            if i < DEVICES - 2:
                pl.semaphore_signal(room, 1, device_id=left)
    return pl.pallas_call(
        kernel, out_shape=like(x.shape),
        scratch_shapes=[pltpu.VMEM((2, *x.shape), F32), pltpu.SemaphoreType.DMA,
                        pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR],
        compiler_params=pltpu.CompilerParams(collective_id=1))(x)


@over_devices
def ring_scatter(x):
    """Reduce-scatter round a ring: part k of every device's block is summed on device k."""
    def kernel(x_ref, o_ref, buffer, sent, received):
        me = jax.lax.axis_index("x")
        right, left = neighbours()
        barrier(right, left)
        buffer[0] = x_ref[jax.lax.rem(me + DEVICES - 1, DEVICES)]
        for i in range(DEVICES - 1):
            copy = pltpu.make_async_remote_copy(buffer.at[i], buffer.at[i + 1], sent.at[i],
                                                received.at[i], device_id=right)
            copy.start()
            copy.wait()
            buffer[i + 1] += x_ref[jax.lax.rem(me + 2 * DEVICES - 2 - i, DEVICES)]
        o_ref[...] = buffer[DEVICES - 1]
    parts = x.reshape(DEVICES, x.shape[0] // DEVICES, x.shape[1])
    return pl.pallas_call(
        kernel, out_shape=like(parts.shape[1:]),
        scratch_shapes=[pltpu.VMEM(parts.shape, F32)] + [pltpu.SemaphoreType.DMA((DEVICES - 1,))] * 2,
        compiler_params=pltpu.CompilerParams(collective_id=2))(parts)


# both cores

def cores_map(x):
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=2)

    def f(refs):
        x_ref, o_ref = refs

        @pl.core_map(mesh)
        def _():
            half = x_ref.shape[0] // 2
            core = jax.lax.axis_index("core")
            rows = pl.ds(core * half, half)

            def scoped(buffer, sem):
                pltpu.async_copy(x_ref.at[rows], buffer, sem).wait()
                buffer[...] = buffer[...] * 2.0
                pltpu.async_copy(buffer, o_ref.at[rows], sem).wait()
            pl.run_scoped(scoped, pltpu.VMEM((half, x_ref.shape[1]), F32), pltpu.SemaphoreType.DMA)
    return pl.run_state(f)((x, jnp.zeros_like(x)))[1]


def cores_kernel(x):
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=2)

    @functools.partial(pl.kernel, mesh=mesh, out_type=like(x.shape))
    def f(x_hbm, o_hbm):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] + 1.0
        block = pl.BlockSpec((32, 128), lambda i: (i, 0))
        pltpu.emit_pipeline(body, grid=(x_hbm.shape[0] // 32,), in_specs=[block], out_specs=[block],
                            core_axis_name="core",
                            dimension_semantics=(pltpu.PARALLEL,))(x_hbm, o_hbm)
    return f(x)


# random numbers, aliases, what else the pages show

def random_bits(seed):
    def kernel(seed_ref, o_ref):
        pltpu.prng_seed(seed_ref[0])
        o_ref[...] = pltpu.bitcast(pltpu.prng_random_bits(o_ref.shape), U32)
    return pl.pallas_call(kernel, out_shape=like((64, 128), U32),
                          in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM)])(seed)


def random_uniform(seed):
    def kernel(seed_ref, o_ref):
        pltpu.prng_seed(seed_ref[0], pl.program_id(0))
        o_ref[...] = pltpu.stateful_uniform(o_ref.shape, F32)
    return pl.pallas_call(kernel, grid=(4,), out_shape=like((64, 128)),
                          in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM)],
                          out_specs=pl.BlockSpec((16, 128), lambda i: (i, 0)))(seed)


def in_place(x, y):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...]
    block = pl.BlockSpec((16, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(x.shape[0] // 16,), in_specs=[block, block],
                          out_specs=block, out_shape=like(x.shape),
                          input_output_aliases={0: 0})(x, y)


def strided(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(1, 16, stride=2), :]
    return pl.pallas_call(kernel, out_shape=like((16, x.shape[1])))(x)


def rolled(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = pltpu.roll(x_ref[...], 3, 1) + pltpu.roll(x_ref[...], 5, 0)
    return pl.pallas_call(kernel, out_shape=like(x.shape))(x)


def repeated(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.tile(x_ref[...], (1, 2))
    return pl.pallas_call(kernel, out_shape=like((x.shape[0], 2 * x.shape[1])))(x)


def reshaped(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...].reshape(o_ref.shape)
    return pl.pallas_call(kernel, out_shape=like((x.shape[0] // 8, 8, x.shape[1])))(x)


def argmax_rows(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.argmax(x_ref[...], axis=1, keepdims=True).astype(I32)
    return pl.pallas_call(kernel, out_shape=like((x.shape[0], 1), I32))(x)


def printed(x):
    def kernel(x_ref, o_ref):
        pl.debug_print("step {}", pl.program_id(0))
        o_ref[...] = x_ref[...] * 2.0
    block = pl.BlockSpec((16, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(2,), in_specs=[block], out_specs=block,
                          out_shape=like(x.shape))(x)


def printed_parts(counts, x):
    """Numbers within a text, one behind it, and a part of a vector."""
    def kernel(counts_ref, x_ref, o_ref):
        pl.debug_print("step {} of {}", pl.program_id(0), counts_ref[1])
        pl.debug_print("sum", jnp.sum(x_ref[...]))
        pl.debug_print("x {}", x_ref[:2, :4])
        o_ref[...] = x_ref[...] * 2.0
    whole = pl.BlockSpec(x.shape, lambda i: (0, 0))
    return pl.pallas_call(kernel, grid=(1,), out_specs=whole, out_shape=like(x.shape), in_specs=[
        pl.BlockSpec(memory_space=pltpu.SMEM), whole])(counts, x)


def scalars(x):
    """Results in SMEM."""
    def kernel(x_ref, o_ref):
        o_ref[0] = jnp.sum(x_ref[...])
        o_ref[1] = x_ref[3, 5]
    return pl.pallas_call(kernel, out_shape=like((2,)),
                          out_specs=pl.BlockSpec(memory_space=pltpu.SMEM))(x)


def while_loop(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        jax.lax.while_loop(lambda i: i < 5, lambda i: (body(o_ref), i + 1)[1], 0)

    def body(o_ref):
        o_ref[...] = o_ref[...] * 1.5
    return pl.pallas_call(kernel, out_shape=like(x.shape))(x)


def gathered_lanes(x, which):
    def kernel(x_ref, which_ref, o_ref):
        o_ref[...] = jnp.take_along_axis(x_ref[...], which_ref[...], axis=1)
    return pl.pallas_call(kernel, out_shape=like(x.shape))(x, which)


ARRAY = like((256, 128))
CASES = [
    ("inner_pipeline", inner_pipeline, [ARRAY, ARRAY]),
    ("buffers_three", buffers_three, [like((128, 128))]),
    ("accumulate", accumulate, [like((4, 128, 128))]),
    ("element_windows", element_windows, [like((64, 128))]),
    ("product_transposed", functools.partial(product, transposed=True), [like((256, 256), BF16)] * 2),
    ("product_relu", functools.partial(product, activation=jax.nn.relu),
     [like((256, 256), BF16)] * 2),
    ("product_gelu", functools.partial(product, activation=jax.nn.gelu), [like((256, 256))] * 2),
    ("product_int8", functools.partial(product, sums=I32), [like((256, 256), I8)] * 2),
    ("product_exact", product_exact, [like((128, 128))] * 2),
    ("sparse_rows", sparse_rows, [like((2, 3), I32), like((256, 1024), BF16),
                                  like((1024, 128), BF16)]),
    ("dynamic_rows", dynamic_rows, [like((1,), I32), like((64, 128))]),
    ("right_permute", right_permute, [ARRAY]),
    ("ring_gather", ring_gather, [ARRAY]),
    ("ring_sum", ring_sum, [ARRAY]),
    ("ring_scatter", ring_scatter, [ARRAY]),
    ("cores_map", cores_map, [ARRAY]),
    ("cores_kernel", cores_kernel, [ARRAY]),
    ("random_bits", random_bits, [like((1,), I32)]),
    ("random_uniform", random_uniform, [like((1,), I32)]),
    ("in_place", in_place, [ARRAY, ARRAY]),
    ("strided", strided, [like((64, 128))]),
    ("rolled", rolled, [like((16, 256))]),
    ("repeated", repeated, [like((16, 128))]),
    ("reshaped", reshaped, [like((64, 128))]),
    ("argmax_rows", argmax_rows, [like((32, 256))]),
    ("printed", printed, [like((32, 128))]),
    ("printed_parts", printed_parts, [like((2,), I32), like((8, 128))]),
    ("scalars", scalars, [like((16, 128))]),
    ("while_loop", while_loop, [like((16, 128))]),
    ("gathered_lanes", gathered_lanes, [like((8, 128)), like((8, 128), I32)]),
]

ARGUMENTS = {
    "printed_parts": {0: [3, 7], 1: [[i + j / 4 for j in range(128)] for i in range(8)]},
    "sparse_rows": {0: [[0, 5, -1], [7, -1, 2]]},
    "dynamic_rows": {0: [16]},
    "gathered_lanes": {1: [[(37 * i + j * j) % 128 for i in range(128)] for j in range(8)]},
}

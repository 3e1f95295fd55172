"""Kernels that do what they must not, one mistake each, and what tells of it.

CASES lists (name, function, shapes of arguments, what finds it): race, unwritten, or the beginning of
the message that ends the run. JAX's interpret mode with detect_races finds the races as well
(export_mistakes.py holds both against each other).
"""
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F32, I32 = jnp.float32, jnp.int32
HBM = pl.BlockSpec(memory_space=pl.ANY)


def like(shape, dtype=F32):
    return jax.ShapeDtypeStruct(shape, dtype)


def copied(kernel, x, interpret, out=None, scratch=()):
    return pl.pallas_call(kernel, out_shape=out or like((16, 128)), in_specs=[HBM],
                          scratch_shapes=[pltpu.VMEM((16, 128), F32), pltpu.SemaphoreType.DMA,
                                          *scratch], interpret=interpret)(x)


def read_before_wait(x, interpret=False):
    def kernel(x_hbm, o_ref, buffer, sem):
        copy = pltpu.make_async_copy(x_hbm.at[pl.ds(0, 16)], buffer, sem)
        copy.start()
        o_ref[...] = buffer[...] * 2.0
        copy.wait()
    return copied(kernel, x, interpret)


def write_under_copy(x, interpret=False):
    """The source of a copy out is written while the copy is under way."""
    def kernel(x_ref, o_hbm, buffer, sem):
        buffer[...] = x_ref[0:16, :]
        copy = pltpu.make_async_copy(buffer, o_hbm, sem)
        copy.start()
        buffer[...] = jnp.zeros((16, 128), F32)
        copy.wait()
    return pl.pallas_call(kernel, out_shape=like((16, 128)), out_specs=HBM,
                          scratch_shapes=[pltpu.VMEM((16, 128), F32), pltpu.SemaphoreType.DMA],
                          interpret=interpret)(x)


def two_copies(x, interpret=False):
    """Two copies into the same buffer at once."""
    def kernel(x_hbm, o_ref, buffer, sem, other):
        first = pltpu.make_async_copy(x_hbm.at[pl.ds(0, 16)], buffer, sem)
        second = pltpu.make_async_copy(x_hbm.at[pl.ds(16, 16)], buffer, other)
        first.start()
        second.start()
        first.wait()
        second.wait()
        o_ref[...] = buffer[...]
    return copied(kernel, x, interpret, scratch=[pltpu.SemaphoreType.DMA])


def wrong_slot(x, interpret=False):
    """Of two buffers the one is read that is still being filled."""
    def kernel(x_hbm, o_ref, buffer, sems):
        def fetch(i, slot):
            return pltpu.make_async_copy(x_hbm.at[pl.ds(i * 16, 16)], buffer.at[slot],
                                         sems.at[slot])
        fetch(0, 0).start()
        fetch(1, 1).start()
        fetch(0, 0).wait()
        o_ref[...] = buffer[1]
        fetch(1, 1).wait()
    return pl.pallas_call(
        kernel, out_shape=like((16, 128)), in_specs=[HBM], interpret=interpret,
        scratch_shapes=[pltpu.VMEM((2, 16, 128), F32), pltpu.SemaphoreType.DMA((2,))])(x)


def unwritten_scratch(x, interpret=False):
    """A sum that begins with whatever memory holds."""
    def kernel(x_ref, o_ref, acc):
        acc[...] += x_ref[...]
        o_ref[...] = acc[...]
    block = pl.BlockSpec((16, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(4,), out_shape=like((64, 128)), in_specs=[block],
                          out_specs=block, scratch_shapes=[pltpu.VMEM((16, 128), F32)],
                          interpret=interpret)(x)


def unwritten_result(x, interpret=False):
    def kernel(x_ref, o_ref):
        o_ref[...] = o_ref[...] + x_ref[...]
    block = pl.BlockSpec((16, 128), lambda i: (i, 0))
    return pl.pallas_call(kernel, grid=(4,), out_shape=like((64, 128)), in_specs=[block],
                          out_specs=block, interpret=interpret)(x)


def unwritten_rows(x, interpret=False):
    """Half of a buffer is filled, all of it is read."""
    def kernel(x_hbm, o_ref, buffer, sem):
        pltpu.async_copy(x_hbm.at[pl.ds(0, 8)], buffer.at[pl.ds(0, 8)], sem).wait()
        o_ref[...] = buffer[...]
    return copied(kernel, x, interpret)


def block_outside(x, interpret=False):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]
    return pl.pallas_call(kernel, grid=(4,), out_shape=like((64, 128)),
                          in_specs=[pl.BlockSpec((16, 128), lambda i: (i + 1, 0))],
                          out_specs=pl.BlockSpec((16, 128), lambda i: (i, 0)),
                          interpret=interpret)(x)


def slice_outside(start, x, interpret=False):
    def kernel(start_ref, x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(start_ref[0] * 56, 16), :]
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(1,),
        in_specs=[pl.BlockSpec((64, 128), lambda i, s: (0, 0))],
        out_specs=pl.BlockSpec((16, 128), lambda i, s: (0, 0)))
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=like((16, 128)),
                          interpret=interpret)(start, x)


def copy_outside(x, interpret=False):
    def kernel(x_hbm, o_ref, buffer, sem):
        def step(i, _):
            pltpu.async_copy(x_hbm.at[pl.ds(i * 16, 16)], buffer, sem).wait()
            o_ref[...] = buffer[...]
            return ()
        jax.lax.fori_loop(0, 5, step, ())
    return copied(kernel, x, interpret)


def never_waited(x, interpret=False):
    def kernel(x_hbm, o_ref, buffer, sem):
        pltpu.make_async_copy(x_hbm.at[pl.ds(0, 16)], buffer, sem).start()
        o_ref[...] = jnp.ones((16, 128), F32)
    return copied(kernel, x, interpret)


def left_raised(x, interpret=False):
    def kernel(x_ref, o_ref, sem):
        pl.semaphore_signal(sem, 2)
        pl.semaphore_wait(sem, 1)
        o_ref[...] = x_ref[0:16, :]
    return pl.pallas_call(kernel, out_shape=like((16, 128)), interpret=interpret,
                          scratch_shapes=[pltpu.SemaphoreType.REGULAR])(x)


def waits_for_ever(x, interpret=False):
    def kernel(x_ref, o_ref, sem):
        pl.semaphore_wait(sem, 1)
        o_ref[...] = x_ref[0:16, :]
    return pl.pallas_call(kernel, out_shape=like((16, 128)), interpret=interpret,
                          scratch_shapes=[pltpu.SemaphoreType.REGULAR])(x)


def parallel_sum(x, interpret=False):
    """Steps of a parallel dimension add to the same block."""
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)
        o_ref[...] += x_ref[...]
    return pl.pallas_call(
        kernel, grid=(4,), out_shape=like((16, 128)), interpret=interpret,
        in_specs=[pl.BlockSpec((16, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((16, 128), lambda i: (0, 0)),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)))(x)


X = like((64, 128))
CASES = [
    ("read_before_wait", read_before_wait, [X], "race"),
    ("write_under_copy", write_under_copy, [X], "race"),
    ("two_copies", two_copies, [X], "race"),
    ("wrong_slot", wrong_slot, [X], "race"),
    ("parallel_sum", parallel_sum, [X], "race"),
    ("unwritten_scratch", unwritten_scratch, [X], "unwritten"),
    ("unwritten_result", unwritten_result, [X], "unwritten"),
    ("unwritten_rows", unwritten_rows, [X], "unwritten"),
    ("block_outside", block_outside, [X], "lies outside its array"),
    ("slice_outside", slice_outside, [like((1,), I32), X], "which has 64"),
    ("copy_outside", copy_outside, [X], "which has 64"),
    ("never_waited", never_waited, [X], "a copy that is never waited for"),
    ("left_raised", left_raised, [X], "has 1 left at the end"),
    ("waits_for_ever", waits_for_ever, [X], "nothing that has been started raises it"),
]

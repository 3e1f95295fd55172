"""Kernels of several devices that do what they must not, one mistake each, and what tells of it.

CASES lists (name, function, shapes of arguments, what finds it) as mistakes.py does. Run by itself it
tells what JAX's interpret mode finds with detect_races: `python mistakes_devices.py`.
"""
import functools

import interpret  # noqa: F401  # says how many devices the CPU has; before jax
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

DEVICES = 4
F32 = jnp.float32
HBM = pl.BlockSpec(memory_space=pl.ANY)
X = jax.ShapeDtypeStruct((DEVICES * 8, 128), F32)


def over_devices(local):
    @functools.wraps(local)
    def exchange(x, mode=False):
        mesh = jax.sharding.Mesh(jax.devices()[:DEVICES], ("x",))
        return jax.shard_map(functools.partial(local, mode=mode), mesh=mesh,
                             in_specs=jax.sharding.PartitionSpec("x"),
                             out_specs=jax.sharding.PartitionSpec("x"), check_vma=False)(x)
    return exchange


def neighbours():
    me = jax.lax.axis_index("x")
    return jax.lax.rem(me + 1, DEVICES), jax.lax.rem(me + DEVICES - 1, DEVICES)


def meet():
    """Both neighbours are in the kernel."""
    sem = pltpu.get_barrier_semaphore()
    for to in neighbours():
        pl.semaphore_signal(sem, device_id=to)
    pl.semaphore_wait(sem, 2)


def called(kernel, x, mode, *scratch):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, F32), interpret=mode,
                          scratch_shapes=[pltpu.VMEM((2, *x.shape), F32), pltpu.SemaphoreType.DMA,
                                          pltpu.SemaphoreType.DMA, *scratch],
                          compiler_params=pltpu.CompilerParams(collective_id=3))(x)


def ring(x, mode, has_room):
    """Sums round a ring in two slots; without `room` a slot is written while it may be read."""
    def kernel(x_ref, o_ref, buffer, sent, received, room):
        right, left = neighbours()
        meet()
        buffer[0] = x_ref[...]
        o_ref[...] = x_ref[...]
        for i in range(DEVICES - 1):
            now, later = i % 2, (i + 1) % 2
            if has_room and i > 0:
                pl.semaphore_wait(room, 1)
            copy = pltpu.make_async_remote_copy(buffer.at[now], buffer.at[later], sent, received,
                                                device_id=right)
            copy.start()
            copy.wait()
            o_ref[...] += buffer[later]
            if has_room and i < DEVICES - 2:
                pl.semaphore_signal(room, 1, device_id=left)
    return called(kernel, x, mode, pltpu.SemaphoreType.REGULAR)


@over_devices
def no_room(x, mode=False):
    return ring(x, mode, False)


@over_devices
def with_room(x, mode=False):
    return ring(x, mode, True)


def shift(x, mode, first=False, early=False):
    def kernel(x_ref, o_ref, buffer, sent, received):
        right, _ = neighbours()
        if first:                       # of the slot that the neighbour writes, behind the meeting
            meet()
            buffer[1] = jnp.zeros_like(x_ref)
        else:
            buffer[1] = jnp.zeros_like(x_ref)
            meet()
        buffer[0] = x_ref[...]
        copy = pltpu.make_async_remote_copy(buffer.at[0], buffer.at[1], sent, received,
                                            device_id=right)
        copy.start()
        if early:
            o_ref[...] = buffer[1]
        copy.wait()
        if not early:
            o_ref[...] = buffer[1]
    return called(kernel, x, mode)


@over_devices
def zeros_late(x, mode=False):
    """Zeros are written to what the neighbour writes, behind the meeting."""
    return shift(x, mode, first=True)


@over_devices
def read_early(x, mode=False):
    return shift(x, mode, early=True)


@over_devices
def shifted(x, mode=False):
    return shift(x, mode)


@over_devices
def source_overwritten(x, mode=False):
    """The source of a copy to another device is written before it has been sent."""
    def kernel(x_ref, o_ref, buffer, sent, received):
        right, _ = neighbours()
        meet()
        buffer[0] = x_ref[...]
        copy = pltpu.make_async_remote_copy(buffer.at[0], buffer.at[1], sent, received,
                                            device_id=right)
        copy.start()
        buffer[0] = jnp.zeros_like(x_ref)
        copy.wait()
        o_ref[...] = buffer[1]
    return called(kernel, x, mode)


@over_devices
def all_wait(x, mode=False):
    """Everybody waits before anybody sends."""
    def kernel(x_ref, o_ref, buffer, sent, received):
        right, _ = neighbours()
        meet()
        copy = pltpu.make_async_remote_copy(x_ref, buffer.at[1], sent, received, device_id=right)
        copy.wait_recv()
        copy.start()
        copy.wait_send()
        o_ref[...] = buffer[1]
    return called(kernel, x, mode)


CASES = [
    ("no_room", no_room, [X], "race"),
    ("zeros_late", zeros_late, [X], "race"),
    ("read_early", read_early, [X], "race"),
    ("source_overwritten", source_overwritten, [X], "race"),
    ("with_room", with_room, [X], ""),
    ("shifted", shifted, [X], ""),
    ("all_wait", all_wait, [X], "nothing that has been started raises it"),
]


def main():
    from jax._src.pallas.mosaic.interpret import interpret_pallas_call as modes
    for name, function, (shape,), found in CASES:
        if name == "all_wait":          # it would not end
            continue
        x = jnp.arange(shape.size, dtype=F32).reshape(shape.shape)
        jax.block_until_ready(function(x, pltpu.InterpretParams(detect_races=True)))
        told = "race" if modes.races.races_found else ""
        print(f"{name:20} {told or 'none':6} {'' if told == found else 'NOT AS HERE'}")


if __name__ == "__main__":
    main()

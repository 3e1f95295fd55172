"""JAX as it is on a simulated v5e-8: what a first session tries, with values beside NumPy's."""
import pjrt

pjrt.use("v5e-8")

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

ROWS = np.arange(64, dtype=np.float32).reshape(16, 4)


def same(got, wanted, rtol=1e-6):
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=rtol)


def test_devices_are_those_of_the_slice():
    devices = jax.devices()
    assert len(devices) == 8 and jax.default_backend() == "tpu"
    assert {d.device_kind for d in devices} == {"TPU v5 lite"}
    assert [tuple(d.coords) for d in devices][:3] == [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
    assert devices[0].core_on_chip == 0 and devices[0].num_cores == 1
    kinds = [m.kind for m in devices[0].addressable_memories()]
    assert kinds == ["device", "pinned_host", "unpinned_host"]
    assert repr(devices[1]) == ("TpuDevice(id=1, process_index=0, coords=(1,0,0), core_on_chip=0)")


def test_a_jitted_function_computes():
    same(jax.jit(lambda x: x * 2 + 1)(ROWS), ROWS * 2 + 1)
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    same(jax.jit(lambda x: x @ x + 1)(x), x @ x + 1)


def test_types_and_shapes_come_back_as_they_went():
    for dtype in ("bool", "int8", "uint8", "int16", "int32", "uint32", "float16", "bfloat16", "float32",
                  "complex64", "int4", "uint4", "float8_e4m3fn"):
        x = jnp.arange(6).astype(dtype).reshape(2, 3)
        assert x.dtype == dtype and x.shape == (2, 3)
        same(np.asarray(x.astype("float32") if dtype != "complex64" else x.real),
             np.arange(6).reshape(2, 3) if dtype != "bool" else np.array([[0, 1, 1], [1, 1, 1]]))
    assert (jnp.zeros((0, 3)) + 1).shape == (0, 3)
    assert float(jnp.float32(3) * 2) == 6
    same(jnp.asarray(ROWS.T[::-1, ::2]), ROWS.T[::-1, ::2])


def test_arrays_lie_on_the_device_they_were_put_on():
    x = jax.device_put(ROWS, jax.devices()[3])
    y = jax.jit(lambda x: x + 1)(x)
    assert y.devices() == {jax.devices()[3]}
    same(y, ROWS + 1)
    z = jax.device_put(y, jax.devices()[5])
    assert z.devices() == {jax.devices()[5]}
    same(z, ROWS + 1)


def test_sharded_programs_run_on_all_devices():
    mesh = jax.make_mesh((4, 2), ("x", "y"))
    for spec in (P("x"), P("x", "y"), P(None, "y"), P(("x", "y"))):
        x = jax.device_put(ROWS, NamedSharding(mesh, spec))
        y = jax.jit(lambda x: jnp.sin(x) + x.sum(0))(x)
        same(y, np.sin(ROWS) + ROWS.sum(0), 1e-5)
    out = NamedSharding(mesh, P(None, "x"))
    y = jax.jit(lambda x: x.T, out_shardings=out)(x)
    assert y.sharding.is_equivalent_to(out, 2)
    same(y, ROWS.T)


def test_collectives_by_hand():
    mesh = jax.make_mesh((8,), ("i",))
    f = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x, "i"), mesh=mesh, in_specs=P("i"),
                              out_specs=P()))
    rows = jax.device_put(ROWS, NamedSharding(mesh, P("i")))
    same(f(rows), ROWS.reshape(8, 2, 4).sum(0))
    same(jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(ROWS.reshape(8, 8)),
         np.tile(ROWS.reshape(8, 8).sum(0), (8, 1)))


def test_donated_arguments_are_gone():
    x = jnp.ones(3)
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted()
    same(y, np.full(3, 2.0))


def test_loops_and_gradients():
    count, value = jax.lax.while_loop(lambda c: c[1] < 1000, lambda c: (c[0] + 1, c[1] * 2), (0, 1.0))
    assert int(count) == 10 and float(value) == 1024
    w = np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3)
    got = jax.grad(lambda w: jnp.sum(jnp.tanh(w)))(w)
    same(got, 1 - np.tanh(w) ** 2, 1e-5)


def test_results_lie_in_the_memory_that_is_asked_for():
    pinned = jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
    x, y = jax.jit(lambda x: (x + 1, x + 2), out_shardings=(pinned, None))(np.float32(1))
    assert x.sharding.memory_kind == "pinned_host" and y.sharding.memory_kind == "device"
    assert float(x) == 2 and float(y) == 3
    z = jax.jit(lambda x: jax.device_put(x, jax.memory.Space.Device) * 2)(x)
    assert z.sharding.memory_kind == "device" and float(z) == 4


def test_memory_is_counted():
    device = jax.devices()[7]
    before = device.memory_stats()["bytes_in_use"]
    x = jax.device_put(np.zeros((1000, 1000), np.float32), device)
    stats = device.memory_stats()
    assert stats["bytes_limit"] == 16 << 30
    assert stats["bytes_in_use"] - before == 1000 * 1024 * 4       # whole tiles
    del x
    assert device.memory_stats()["bytes_in_use"] == before


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name, "holds", flush=True)

"""What a program sees of JAX's devices beside values: errors, donation, copies, shardings,
callbacks, ahead-of-time compilation, threads. Each check is a function; what it raises is told."""

import threading
import traceback

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def tpu():
    return jax.devices("tpu")


def mesh(*shape, names=("x", "y", "z")):
    return Mesh(np.array(tpu()[: int(np.prod(shape))]).reshape(shape), names[: len(shape)])


def same(a, b):
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@check
def devices_have_places():
    assert len({d.id for d in tpu()}) == len(tpu())
    for d in tpu():
        assert d.platform == "tpu" and len(d.coords) == 3 and d.core_on_chip in (0, 1)
        assert d.memory_stats() is None or d.memory_stats()["bytes_limit"] > 0
        assert {m.kind for m in d.addressable_memories()} >= {"device"}
        assert "TPU" in d.device_kind and repr(d) and str(d)


@check
def arrays_go_there_and_back():
    for dtype in (
        "bool",
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "float16",
        "bfloat16",
        "float32",
        "complex64",
        "int4",
        "uint4",
        "float8_e4m3fn",
        "float8_e5m2",
    ):
        for shape in ((), (1,), (0,), (3, 5), (2, 0, 3), (130, 257), (2, 1, 1, 3)):
            x = np.random.RandomState(1).randint(0, 2, shape).astype(jnp.dtype(dtype))
            y = jax.device_put(x, tpu()[0])
            assert y.dtype == x.dtype and y.shape == shape
            same(y, x)
            assert y.device == tpu()[0]


@check
def strides_of_the_host_do_not_matter():
    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    for view in (
        x.T,
        x[::-1],
        x[:, ::2],
        x[..., ::-2],
        np.broadcast_to(x[:1], (3, 4, 5)),
        np.asfortranarray(x),
        x[:, 1:3, 2:],
    ):
        same(jnp.asarray(view) + 0, view)
        same(jax.jit(lambda v: v * 1)(view), view)


@check
def copies_go_between_devices():
    x = jax.device_put(np.arange(12.0, dtype=np.float32), tpu()[0])
    for d in tpu()[1:]:
        y = jax.device_put(x, d)
        assert y.devices() == {d}
        same(y, x)
        same(y + 1, np.arange(12) + 1)
        assert (y + 1).devices() == {d}
    same(jax.device_put(x, jax.devices("cpu")[0]), x)


@check
def a_donated_buffer_is_gone():
    f = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.arange(8.0)
    y = f(x)
    assert x.is_deleted()
    try:
        np.asarray(x)
    except RuntimeError as error:
        assert "deleted" in str(error)
    else:
        raise AssertionError("a deleted array was read")
    same(y, np.arange(8) + 1)


@check
def a_deleted_array_raises():
    x = jnp.arange(8.0) + 0
    x.delete()
    try:
        x + 1
    except (RuntimeError, ValueError):
        return
    raise AssertionError("a deleted array was used")


@check
def debug_nans_raises():
    jax.config.update("jax_debug_nans", True)
    try:
        jax.jit(lambda x: jnp.log(x))(jnp.float32(-1)).block_until_ready()
    except FloatingPointError:
        return
    finally:
        jax.config.update("jax_debug_nans", False)
    raise AssertionError("no FloatingPointError")


@check
def named_shardings_place_shards():
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    for shape, spec in (
        ((8,), P("x")),
        ((8,), P(None, "x")),
        ((2, 4), P("x", "y")),
        ((2, 4), P("y", "x")),
        ((2, 4), P(("x", "y"))),
        ((2, 4), P("y")),
        ((2, 2, 2), P("z", ("x", "y"))),
        ((4, 2), P()),
    ):
        sharding = NamedSharding(mesh(*shape), spec)
        y = jax.device_put(x, sharding)
        same(y, x)
        for s in y.addressable_shards:
            same(s.data, x[s.index])
        z = jax.jit(lambda v: v * 2 + 1)(y)
        assert z.sharding.is_equivalent_to(sharding, 2), z.sharding
        same(z, x * 2 + 1)
        w = jax.device_put(z, NamedSharding(mesh(8), P(None, "x")))
        same(w, x * 2 + 1)


@check
def out_shardings_are_kept():
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    for spec in (P("x"), P("y"), P("x", "y"), P(), P(None, ("y", "x"))):
        out = NamedSharding(mesh(2, 4), spec)
        y = jax.jit(
            lambda v: v.T + 1,
            in_shardings=NamedSharding(mesh(2, 4), P("y", "x")),
            out_shardings=out,
        )(x)
        assert y.sharding.is_equivalent_to(out, 2)
        same(y, x.T + 1)
        for s in y.addressable_shards:
            same(s.data, (x.T + 1)[s.index])


@check
def device_meshes_are_reordered():
    from jax.experimental import mesh_utils

    m = Mesh(mesh_utils.create_device_mesh((4, 2), devices=tpu()), ("a", "b"))
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    y = jax.jit(
        lambda v: v @ jnp.ones((8, 8)),
        in_shardings=NamedSharding(m, P("a", "b")),
        out_shardings=NamedSharding(m, P("b")),
    )(x)
    np.testing.assert_allclose(y, x @ np.ones((8, 8)), rtol=1e-2)
    back = Mesh(np.array(tpu()[::-1]), ("a",))
    same(
        jax.jit(jnp.cumsum)(jax.device_put(np.arange(16.0), NamedSharding(back, P("a")))),
        np.cumsum(np.arange(16)),
    )


@check
def arrays_are_made_of_pieces():
    sharding = NamedSharding(mesh(8), P("x"))
    x = np.arange(32, dtype=np.int32).reshape(16, 2)
    same(jax.make_array_from_callback(x.shape, sharding, lambda i: x[i]), x)
    parts = [jax.device_put(x[2 * i : 2 * i + 2], d) for i, d in enumerate(tpu()[:8])]
    same(jax.make_array_from_single_device_arrays(x.shape, sharding, parts), x)
    same(jax.make_array_from_process_local_data(sharding, x), x)


@check
def pmap_runs():
    n = len(tpu())
    x = np.arange(n * 3, dtype=np.float32).reshape(n, 3)
    same(jax.pmap(lambda v: v * 2, devices=tpu())(x), x * 2)
    same(
        jax.pmap(lambda v: lax.psum(v, "i"), axis_name="i", devices=tpu())(x),
        np.tile(x.sum(0), (n, 1)),
    )
    same(
        jax.pmap(lambda v: lax.axis_index("i") + v, axis_name="i", devices=tpu())(x)[:, 0],
        np.arange(n) + x[:, 0],
    )
    g = jax.pmap(jax.grad(lambda v: jnp.sum(lax.pmean(v * v, "i"))), axis_name="i", devices=tpu())(
        x
    )
    assert g.shape == x.shape


@check
def subsets_of_devices_run():
    for n in (1, 2, 3, 4, 5):
        m = Mesh(np.array(tpu()[-n:]), ("x",))
        x = np.arange(n * 4, dtype=np.float32)
        y = jax.jit(lambda v: jnp.sum(v) + v)(jax.device_put(x, NamedSharding(m, P("x"))))
        same(y, x + x.sum())
        same(
            jax.shard_map(lambda v: lax.psum(v, "x"), mesh=m, in_specs=P("x"), out_specs=P())(x),
            x.reshape(n, 4).sum(0),
        )


@check
def compiled_programs_tell_of_themselves():
    lowered = jax.jit(lambda x: jnp.sin(x) @ x).lower(jnp.ones((16, 16)))
    compiled = lowered.compile()
    assert "HloModule" in compiled.as_text()
    cost = compiled.cost_analysis()
    assert cost["flops"] > 0
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes >= 1024
    assert compiled.input_shardings and compiled.output_shardings is not None
    assert compiled(jnp.ones((16, 16))).shape == (16, 16)
    compiled.runtime_executable()


@check
def executables_are_saved_and_loaded():
    from jax.experimental import serialize_executable as s

    compiled = jax.jit(lambda x: x * 3).lower(np.float32(2)).compile()
    assert (
        s.deserialize_and_load(*s.serialize(compiled), execution_devices=tpu()[:1])(np.float32(2))
        == 6
    )


@check
def callbacks_are_called():
    seen = []
    same(
        jax.jit(
            lambda x: jax.pure_callback(
                lambda v: np.asarray(v) * 2, jax.ShapeDtypeStruct((4,), "float32"), x
            )
            + 1
        )(jnp.arange(4.0)),
        np.arange(4) * 2 + 1,
    )
    jax.jit(lambda x: jax.debug.callback(lambda v: seen.append(np.asarray(v)), x))(jnp.arange(3.0))
    jax.effects_barrier()
    assert len(seen) == 1 and list(seen[0]) == [0, 1, 2]
    out = jax.jit(
        lambda x: lax.scan(
            lambda c, v: (
                c
                + jax.pure_callback(
                    lambda a: np.float32(a * a), jax.ShapeDtypeStruct((), "float32"), v
                ),
                c,
            ),
            0.0,
            x,
        )
    )(jnp.arange(4.0))
    assert out[0] == 14
    from jax.experimental import io_callback

    order = []
    jax.jit(
        lambda x: [
            io_callback(lambda v: order.append(int(v)), None, x + i, ordered=True) for i in range(3)
        ]
    )(jnp.int32(5))
    jax.effects_barrier()
    assert order == [5, 6, 7], order


@check
def a_callback_that_raises_is_an_error():
    def bad(v):
        raise ValueError("from the host")

    try:
        jax.block_until_ready(
            jax.jit(lambda x: jax.pure_callback(bad, jax.ShapeDtypeStruct((), "float32"), x))(
                jnp.float32(1)
            )
        )
    except Exception as error:
        assert "from the host" in str(error), str(error)[:300]
        return
    raise AssertionError("no error")


@check
def the_other_generators_work():
    for impl in ("threefry2x32", "rbg", "unsafe_rbg"):
        k = jax.random.key(3, impl=impl)
        a = jax.random.normal(jax.random.fold_in(jax.random.split(k, 3)[1], 7), (1000,))
        assert abs(float(a.mean())) < 0.2 and 0.8 < float(a.std()) < 1.2
        same(
            a,
            jax.jit(
                lambda k: jax.random.normal(
                    jax.random.fold_in(jax.random.split(k, 3)[1], 7), (1000,)
                )
            )(k),
        )


@check
def too_much_memory_is_an_error():
    try:
        jax.block_until_ready(jnp.zeros((5, 1 << 30), jnp.float32))
    except Exception as error:
        assert "RESOURCE_EXHAUSTED" in str(error), str(error)[:300]
        return
    raise AssertionError("20 GiB fit")


@check
def threads_compile_and_launch():
    failed = []

    def work(n):
        try:
            for i in range(15):
                f = jax.jit(lambda x: x * (n * 100 + i) + 1)
                same(f(jnp.arange(5)), np.arange(5) * (n * 100 + i) + 1)
        except Exception:
            failed.append(traceback.format_exc())

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed, failed[0]


@check
def interpreters_scalars_and_weak_types():
    assert (
        float(jnp.float32(2) + 3) == 5
        and int(jnp.int32(7) // 2) == 3
        and bool(jnp.array(True) & True)
    )
    assert [float(v) for v in jnp.arange(3.0)] == [0, 1, 2]
    assert jnp.arange(5)[jnp.array([True, False, True, False, True])].tolist() == [0, 2, 4]
    assert jnp.nonzero(jnp.array([0, 3, 0, 4]))[0].tolist() == [1, 3]
    assert jnp.unique(jnp.array([3, 1, 3])).tolist() == [1, 3]
    assert repr(jnp.ones(2)) == "Array([1., 1.], dtype=float32)"
    if jnp.any(jnp.ones(3) > 0):
        pass
    assert sorted(jnp.array([3, 1, 2]).tolist()) == [1, 2, 3]


@check
def memories_of_the_host():
    s = NamedSharding(mesh(8), P("x"), memory_kind="pinned_host")
    x = np.arange(16.0, dtype=np.float32)
    y = jax.device_put(x, s)
    assert y.sharding.memory_kind == "pinned_host"
    same(y, x)
    z = jax.device_put(y, s.with_memory_kind("device"))
    same(z + 1, x + 1)
    same(
        jax.device_put(
            jax.device_put(x, SingleDeviceSharding(tpu()[1], memory_kind="pinned_host")), tpu()[2]
        ),
        x,
    )


@check
def topologies_compile_without_devices():
    from jax.experimental import topologies

    t = topologies.get_topology_desc("v5e:2x4", "tpu")
    m = topologies.make_mesh(t, (8,), ("x",))
    s = NamedSharding(m, P("x"))
    assert (
        jax.jit(lambda x: x * 2).lower(jax.ShapeDtypeStruct((16,), "float32", sharding=s)).compile()
        is not None
    )


@check
def barriers_and_live_arrays():
    x = jnp.ones(3) + 1
    assert any(a is x for a in jax.live_arrays())
    jax.block_until_ready(jax.tree.map(lambda v: v + 1, {"a": x, "b": [x, x]}))
    assert x.is_ready() in (True, False) and x.is_fully_replicated and x.is_fully_addressable
    assert x.nbytes == 12 and x.on_device_size_in_bytes() >= 12
    jax.clear_caches()


@check
def copies_of_sharded_arrays_alias_nothing():
    x = jax.device_put(np.arange(16.0, dtype=np.float32), NamedSharding(mesh(8), P("x")))
    f = jax.jit(lambda v: v.at[3].set(9), donate_argnums=0)
    y = x + 0
    z = f(y)
    same(x, np.arange(16))
    assert z[3] == 9 and y.is_deleted()


@check
def constants_of_a_host_do_not_change():
    x = np.arange(8, dtype=np.float32)
    y = jnp.asarray(x)
    z = jax.device_put(x)
    x[:] = 7
    jax.block_until_ready((y, z))


@check
def uneven_constraints_work():
    m = mesh(8)
    f = jax.jit(
        lambda x: (
            lax.with_sharding_constraint(x * 2, NamedSharding(m, P("x"))).sum()
            if x.shape[0] % 8 == 0
            else x.sum()
        )
    )
    assert f(jnp.arange(16.0)) == 240


def run_checks():
    """How many failed."""
    failed = 0
    for function in CHECKS:
        try:
            function()
        except Exception:
            failed += 1
            print(f"failed {function.__name__}:\n{traceback.format_exc()[-1500:]}", flush=True)
    print(f"{len(CHECKS)} checks of behaviour, {failed} failed", flush=True)
    return failed

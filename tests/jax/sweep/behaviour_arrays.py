"""What a program sees of arrays on JAX's devices: methods, copies, sharing of memory with others, layouts,
errors of arrays that are gone or lie elsewhere."""

import copy
import gc
import pickle

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P, SingleDeviceSharding

from sweep.behaviour import check, mesh, same, tpu


def raises(part, call, kinds=Exception):
    try:
        jax.block_until_ready(call())
    except kinds as error:
        assert part in str(error), f"no {part!r} in {str(error)[:300]}"
        return
    raise AssertionError(f"nothing is raised where {part!r} is due")


@check
def methods_of_arrays():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    y = jnp.asarray(x)
    same(y.T, x.T)
    same(y.mT, np.swapaxes(x, -1, -2))
    same(y.reshape(4, -1), x.reshape(4, -1))
    same(y.transpose(2, 0, 1), x.transpose(2, 0, 1))
    same(y.swapaxes(0, 2), x.swapaxes(0, 2))
    same(y.squeeze(), x.squeeze())
    same(y.flatten(), x.flatten())
    same(y.astype(int), x.astype(np.int32))
    same(y.view(jnp.int32), x.view(np.int32))
    same(y.view(jnp.uint8), x.view(np.uint8))
    same(y.repeat(2, axis=1), x.repeat(2, axis=1))
    same(y.take(jnp.array([0, 2]), axis=2), x.take([0, 2], axis=2))
    same(y.clip(3, 9), x.clip(3, 9))
    same(y.argmax(1), x.argmax(1))
    same(y.argsort(axis=0), x.argsort(axis=0))
    same(y.cumsum(1), x.cumsum(1))
    same(y.sum((0, 2)), x.sum((0, 2)))
    same(y.max(), x.max())
    same(y.diagonal(axis1=1, axis2=2), x.diagonal(axis1=1, axis2=2))
    same(y.compress(jnp.array([True, False, True]), axis=1), x.compress([True, False, True], axis=1))
    same((y > 3).nonzero()[0], (x > 3).nonzero()[0])
    assert y.tolist() == x.tolist() and y[1, 2, 3].item() == 23 and y.item(5) == 5
    assert len(y) == 2 and y.size == 24 and y.ndim == 3 and y.itemsize == 4 and y.nbytes == 96
    assert hash(y.dtype) and y.weak_type is False and jnp.asarray(2.0).weak_type is True
    assert f"{jnp.float32(2.5):.2f}" == "2.50" and complex(jnp.complex64(1 + 2j)) == 1 + 2j
    assert list(range(5))[jnp.int32(2)] == 2 and [1, 2, 3][jnp.uint8(1)] == 2
    assert not np.asarray(y).flags.writeable
    raises("", lambda: len(jnp.float32(1)), TypeError)
    raises("", lambda: bool(y), ValueError)
    raises("", lambda: y.__setitem__(0, 1), TypeError)


@check
def indices_of_all_kinds():
    x = np.arange(120, dtype=np.int32).reshape(4, 5, 6)
    y = jnp.asarray(x)
    a = np.array
    for at in (
        1, -1, slice(None), slice(3, 0, -2), ..., None, (..., 2), (0, ..., 1), (None, 1, None, ..., 2),
        (slice(1, 3), 2), (a([0, 2]), a([1, 3])), (a([[0], [2]]), a([1, 3])), (slice(None), a([0, 0, 4])),
        (a([1, 2]), slice(None), a([3, 4])), (a([1, 2]), a([3, 4]), ...), a([True, False, True, True]),
        (slice(None), a([True, False, True, False, True])), x % 7 == 3, (a(2), a(-1)), (), (slice(10, 20),),
        (..., a([], int), slice(None)), (True,), (a([], int), 2), (2, a([True] * 5)), (0, a([3]), None, 1),
        (slice(None, None, -1), None, a([[1, 2], [3, 4]])), (a(1), ..., a([True, False] * 3)),
    ):  # fmt: skip
        same(y[at], x[at])
    same(y[jnp.array([-1, 5, 9])], x[[-1, 3, 3]])
    same(y.at[jnp.array([1, 9])].get(mode="fill", fill_value=-7)[1], np.full((5, 6), -7))
    same(y.at[jnp.array([1, 9])].get(mode="clip")[1], x[3])
    same(y.at[9].set(1, mode="drop"), x)
    raises("", lambda: y[0.5], (TypeError, IndexError))
    raises("", lambda: y[0, 0, 0, 0], (TypeError, IndexError))


@check
def updates_at_indices():
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    y = jnp.asarray(x)

    def numpy_like(at, how, value):
        z = x.copy()
        how.at(z, at, value)
        return z

    at = (np.array([0, 2, 2]), np.array([1, 3, 3]))
    same(y.at[at].add(2), numpy_like(at, np.add, 2))
    same(y.at[at].multiply(3), numpy_like(at, np.multiply, 3))
    same(y.at[at].min(1), numpy_like(at, np.minimum, 1))
    same(y.at[at].max(8), numpy_like(at, np.maximum, 8))
    same(y.at[at].subtract(1), numpy_like(at, np.subtract, 1))
    same(y.at[(at[0][:2], at[1][:2])].divide(2), numpy_like((at[0][:2], at[1][:2]), np.divide, 2))
    same(y.at[1].set(7), np.where(np.arange(4)[:, None] == 1, 7, x))
    same(y.at[:, ::2].set(0), x * (np.arange(5) % 2))
    same(y.at[0].apply(jnp.sin)[0], jnp.sin(y[0]))
    same(y.at[0, 0].power(2)[0, 0], 0)
    same(y.at[[3, 1], 2].set(jnp.array([5.0, 6.0]), unique_indices=True)[:, 2], [2, 6, 12, 5])
    same(y.at[jnp.array([1, 7])].set(0, mode="drop"), np.where(np.arange(4)[:, None] == 1, 0, x))
    same(y.at[jnp.array([1, 7])].add(1, mode="clip")[3], x[3] + 1)
    same(y.at[-1].set(1.0, mode="promise_in_bounds")[3], np.ones(5))
    same(y.at[x > 12].set(-1), np.where(x > 12, -1, x))
    same(jax.jit(lambda v, i: v.at[i].set(v[i] * 2))(y, jnp.int32(2))[2], x[2] * 2)


@check
def copies_and_pickles():
    x = jnp.arange(6.0).reshape(2, 3)
    for y in (copy.copy(x), copy.deepcopy(x), x.copy(), jnp.array(x), jnp.array(x, copy=True)):
        same(y, x)
    y = pickle.loads(pickle.dumps(x))
    same(y, x)
    k = jax.random.key(3)
    same(jax.random.key_data(copy.deepcopy(k)), jax.random.key_data(k))
    z = jax.device_put(x, tpu()[3])
    assert jnp.asarray(z).devices() == {tpu()[3]} and z.copy().devices() == {tpu()[3]}


@check
def memory_is_shared_with_others_or_refused():
    x = jax.device_put(np.arange(6.0, dtype=np.float32), jax.devices("cpu")[0])
    same(np.from_dlpack(x), np.arange(6))
    y = jnp.arange(6.0)
    raises("", lambda: np.from_dlpack(y))
    same(jax.device_put(jax.dlpack.from_dlpack(np.arange(6.0, dtype=np.float32)), tpu()[1]), np.arange(6))
    same(np.array(y), np.arange(6))
    same(memoryview(np.asarray(y)), np.arange(6))


@check
def deleted_arrays_are_told():
    x = jnp.arange(4.0) + 1
    x.delete()
    assert x.is_deleted() and x.shape == (4,)
    for use in (lambda: np.asarray(x), lambda: x + 1, lambda: jax.jit(jnp.sin)(x), lambda: jax.device_put(x, tpu()[1]),
                lambda: x[0], lambda: repr(x), lambda: x.block_until_ready(), lambda: float(x[0])):  # fmt: skip
        raises("deleted", use)
    y = jax.device_put(np.arange(8.0), NamedSharding(mesh(8), P("x")))
    y.delete()
    raises("deleted", lambda: np.asarray(y))


@check
def donated_arrays_are_told():
    f = jax.jit(lambda a, b: (a + 1, b * 2), donate_argnums=(0,))
    a, b = jnp.arange(4.0), jnp.arange(4.0)
    f(a, b)
    assert a.is_deleted() and not b.is_deleted()
    raises("deleted", lambda: f(a, b))
    raises("donate", lambda: jax.jit(lambda a, b: a + b, donate_argnums=(0, 1))(b, b))
    s = NamedSharding(mesh(4, 2), P("x", "y"))
    c = jax.device_put(np.arange(64.0).reshape(8, 8), s)
    d = jax.jit(lambda v: v.T + 1, donate_argnums=0, out_shardings=s)(c)
    same(d, np.arange(64).reshape(8, 8).T + 1)
    g = jax.jit(lambda tree: jax.tree.map(lambda v: v * 2, tree), donate_argnames=("tree",))
    t = {"a": jnp.ones(3), "b": [jnp.zeros((2, 2)), jnp.ones((), jnp.int32)]}
    out = g(tree=t)
    same(out["b"][1], 2)
    for _ in range(3):
        out = g(tree=out)
    same(out["a"], np.full(3, 16))


@check
def wrong_devices_are_told():
    a, b = jax.device_put(jnp.ones(3), tpu()[0]), jax.device_put(jnp.ones(3), tpu()[1])
    raises("incompatible devices", lambda: jax.jit(jnp.add)(a, b), ValueError)
    raises("", lambda: a + b, ValueError)
    s = NamedSharding(mesh(8), P("x"))
    raises("evenly divide", lambda: jax.device_put(np.ones(7), s), ValueError)
    raises("", lambda: jax.jit(lambda x: x, in_shardings=s)(np.ones((3, 3))), ValueError)
    raises("", lambda: jax.device_put(np.ones(8), SingleDeviceSharding(tpu()[0], memory_kind="vmem")), ValueError)
    raises("", lambda: jax.make_array_from_single_device_arrays((16,), s, [a]), ValueError)


@check
def copies_between_shardings():
    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    kinds = [
        SingleDeviceSharding(tpu()[5]),
        NamedSharding(mesh(8), P("x")), NamedSharding(mesh(8), P(None, "x")), NamedSharding(mesh(8), P()),
        NamedSharding(mesh(4, 2), P("y", "x")), NamedSharding(mesh(2), P("x")),
        NamedSharding(jax.sharding.Mesh(np.array(tpu()[::-1]), ("z",)), P("z")),
        NamedSharding(mesh(8), P("x"), memory_kind="pinned_host"),
        NamedSharding(mesh(8), P("x"), memory_kind="unpinned_host"),
    ]  # fmt: skip
    for a in kinds:
        y = jax.device_put(x, a)
        for b in kinds:
            if kinds[6] in (a, b) and a.memory_kind != b.memory_kind:
                continue  # JAX itself reorders devices within one memory only
            z = jax.device_put(y, b)
            assert z.sharding.is_equivalent_to(b, 2) and z.sharding.memory_kind == b.memory_kind
            same(z, x)
    same(jax.device_put([x, {"a": x + 1}], kinds[1])[1]["a"], x + 1)
    same(jax.device_put((x, x + 1), (kinds[1], kinds[2]))[1], x + 1)
    same(jax.device_put(jax.device_put(x, kinds[2]), kinds[1], donate=True), x)


@check
def layouts_are_accepted():
    from jax.experimental.layout import Format, Layout

    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        form = Format(Layout(major_to_minor=order), SingleDeviceSharding(tpu()[0]))
        y = jax.device_put(x, form)
        same(y, x)
        assert tuple(y.format.layout.major_to_minor) == order, y.format
        same(jax.jit(lambda v: v + 1)(y), x + 1)
        z = jax.jit(lambda v: v * 2, out_shardings=form)(x)
        same(z, x * 2)
        assert tuple(z.format.layout.major_to_minor) == order, z.format
    auto = jax.jit(lambda v: v.T @ v, in_shardings=Format(Layout.AUTO), out_shardings=Format(Layout.AUTO))
    compiled = auto.lower(jax.ShapeDtypeStruct((8, 16), "float32")).compile()
    forms = compiled.input_formats
    w = jax.device_put(np.ones((8, 16), np.float32), forms[0][0])
    same(compiled(w), np.full((16, 16), 8))


@check
def arrays_leave_their_memory():
    before = tpu()[6].memory_stats()["bytes_in_use"]
    for _ in range(20):
        x = jax.device_put(np.zeros((256, 256), np.float32), tpu()[6])
        y = jax.jit(lambda v: v + 1)(x)
    jax.block_until_ready(y)
    del x, y
    gc.collect()
    assert tpu()[6].memory_stats()["bytes_in_use"] == before
    assert tpu()[6].memory_stats()["peak_bytes_in_use"] >= before + (256 << 10)

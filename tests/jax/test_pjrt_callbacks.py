"""Functions of Python that programs on simulated devices call while they run."""
import pjrt

pjrt.use("v5e-4")

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from jax.sharding import NamedSharding, PartitionSpec as P

SCALAR = jax.ShapeDtypeStruct((), jnp.float32)


def call(function, x):
    return jax.pure_callback(function, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def test_an_answer_depends_on_what_was_sent():
    x = np.arange(3, dtype=np.float32)
    f = jax.jit(lambda x: call(np.sin, call(np.sin, x) + 1) * 2)
    np.testing.assert_allclose(f(x), np.sin(np.sin(x) + 1) * 2, rtol=1e-6)
    np.testing.assert_allclose(f(x + 1), np.sin(np.sin(x + 1) + 1) * 2, rtol=1e-6)


def test_each_use_in_a_loop_is_called_once_in_order():
    seen = []

    def twice(i, value):
        seen.append((int(i), float(value)))
        return np.float32(2 * value + 1)

    def body(i, value):
        return io_callback(twice, SCALAR, i, value, ordered=True)

    result = jax.jit(lambda x: jax.lax.fori_loop(0, 5, body, x))(jnp.float32(1))
    assert float(result) == 63
    assert seen == [(0, 1), (1, 3), (2, 7), (3, 15), (4, 31)]


def test_a_loop_whose_end_is_computed():
    seen = []

    def f(x):
        def body(x):
            jax.debug.callback(lambda v: seen.append(float(v)), x, ordered=True)
            return 2 * x
        return jax.lax.while_loop(lambda x: x < 20, body, x)

    assert float(jax.jit(f)(jnp.float32(1))) == 32
    jax.effects_barrier()
    assert seen == [1, 2, 4, 8, 16]


def test_one_device_speaks_for_a_program_of_several():
    mesh = jax.make_mesh((4,), ("i",))
    x = jax.device_put(np.arange(8, dtype=np.float32), NamedSharding(mesh, P("i")))
    seen = []

    def f(x):
        jax.debug.callback(lambda v: seen.append(np.asarray(v)), x)
        return call(lambda v: np.asarray(v) * 3, x)

    np.testing.assert_array_equal(jax.jit(f)(x), 3 * np.arange(8))
    jax.effects_barrier()
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0], np.arange(8))


def test_each_device_speaks_for_itself_in_a_map():
    mesh = jax.make_mesh((4,), ("i",))
    x = jax.device_put(np.arange(8, dtype=np.float32), NamedSharding(mesh, P("i")))
    f = jax.shard_map(lambda x: call(lambda v: np.asarray(v) * 3, x), mesh=mesh, in_specs=P("i"),
                      out_specs=P("i"))
    np.testing.assert_array_equal(jax.jit(f)(x), 3 * np.arange(8))


def test_a_mistake_in_it_is_an_error_of_the_result():
    try:
        jax.block_until_ready(jax.jit(lambda x: call(lambda v: 1 / 0, x))(jnp.float32(1)))
    except jax.errors.JaxRuntimeError as error:
        assert "ZeroDivisionError" in str(error), error
    else:
        raise AssertionError("no error")
    try:
        jax.effects_barrier()               # the launch's token has the error, too
    except jax.errors.JaxRuntimeError:
        pass
    jax._src.dispatch.runtime_tokens.clear()


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name, "holds", flush=True)

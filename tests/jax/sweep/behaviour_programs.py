"""What a program sees of compiling and running beside its values: ahead of time, caches, profiles,
checks of values, callbacks, errors of programs."""

import os
import tempfile
import threading

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import checkify
from jax.sharding import NamedSharding, PartitionSpec as P
from jaxlib import _hlo

from sweep.behaviour import check, mesh, same, tpu
from sweep.behaviour_arrays import raises


@check
def programs_ahead_of_time():
    s = NamedSharding(mesh(8), P("x"))

    def f(x, y=2.0):
        return {"sum": x.sum(), "twice": x * y}

    lowered = jax.jit(f, in_shardings=(s, None)).lower(jax.ShapeDtypeStruct((16, 8), "float32"), 3.0)
    assert "stablehlo" in lowered.as_text() and lowered.in_tree and lowered.out_tree
    lowered.as_text(debug_info=True)
    lowered.as_text("hlo")
    lowered.cost_analysis()
    compiled = lowered.compile()
    same(compiled(jax.device_put(np.ones((16, 8), np.float32), s), 3.0)["twice"], np.full((16, 8), 3))
    assert compiled.input_shardings[0][0].is_equivalent_to(s, 2)
    assert "sum" in compiled.output_shardings
    for name in ("argument_size_in_bytes", "output_size_in_bytes", "temp_size_in_bytes", "alias_size_in_bytes",
                 "generated_code_size_in_bytes", "peak_memory_in_bytes"):  # fmt: skip
        assert getattr(compiled.memory_analysis(), name) >= 0, name
    assert "flops" in compiled.cost_analysis()
    assert compiled.as_text().startswith("HloModule")
    raises("", lambda: compiled(np.ones((8, 8), np.float32), 3.0), TypeError)
    raises("", lambda: compiled(np.ones((16, 8), np.int32), 3.0), TypeError)
    traced = jax.jit(f).trace(jnp.ones(3))
    assert traced.jaxpr and traced.lower().compile()
    assert jax.eval_shape(f, jnp.ones((2, 2)))["twice"].shape == (2, 2)


@check
def text_of_programs_is_read_by_xla():
    for f, args in (
        (lambda x: jnp.tanh(x) @ x, [np.ones((8, 8), np.float32)]),
        (lambda x: lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1, c[1] * 2), (0, x)), [np.float32(1)]),
        (lambda x: jnp.sort(x)[::-1].astype(jnp.bfloat16), [np.arange(9.0, dtype=np.float32)]),
        (lambda x, i: x.at[i].add(1)[i], [np.ones((5, 3), np.float32), np.array([1, 3])]),
        (lambda k: jax.random.normal(k, (4,)), [jax.random.key(0)]),
        (lambda x: [jnp.fft.fft(x), {"half": x.real.astype("float16")}], [np.ones(8, np.complex64)]),
    ):
        text = jax.jit(f).lower(*args).compile().as_text()
        hlo = _hlo.hlo_module_from_text(text)
        assert hlo.name and hlo.as_serialized_hlo_module_proto()


@check
def text_of_programs_is_what_the_compiler_made():
    """A product with what stands before and behind it is one fusion, in the program's own names."""
    f = jax.jit(lambda x: jnp.tanh(jnp.exp(x) @ x + 1))
    text = f.lower(np.ones((64, 64), np.float32)).compile().as_text()
    entry = text[text.index("ENTRY") :]
    assert " fusion(" in entry and " dot(" not in entry and " tanh(" not in entry, entry
    assert " dot(" in text and "jit(" in text and "/tanh" in text
    again = jax.jit(lambda x: jnp.tanh(jnp.exp(x) @ x + 1))      # found on disk, if there is a cache
    assert again.lower(np.ones((64, 64), np.float32)).compile().as_text().count(" fusion(") == text.count(" fusion(")


@check
def kept_compilations():
    from jax.experimental.compilation_cache import compilation_cache

    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "jax_compilation_cache_dir": folder, "jax_persistent_cache_min_compile_time_secs": 0,
            "jax_persistent_cache_min_entry_size_bytes": -1,
        }  # fmt: skip
        before = {name: getattr(jax.config, name) for name in settings}
        for name, value in settings.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()
        try:
            same(jax.jit(lambda x: x * 7 + 3)(jnp.arange(5)), np.arange(5) * 7 + 3)
            assert any(name.endswith("-cache") for name in os.listdir(folder)), os.listdir(folder)
            jax.clear_caches()
            same(jax.jit(lambda x: x * 7 + 3)(jnp.arange(5)), np.arange(5) * 7 + 3)
        finally:
            for name, value in before.items():
                jax.config.update(name, value)
            compilation_cache.reset_cache()


@check
def programs_are_exported_and_called():
    from jax import export

    n = export.symbolic_shape("n, 4")
    out = export.export(jax.jit(lambda x: x.sum(0)), platforms=["tpu", "cpu"])(jax.ShapeDtypeStruct(n, "float32"))
    same(out.call(jnp.ones((7, 4))), np.full(4, 7))


@check
def executables_of_several_devices_are_saved_and_loaded():
    from jax.experimental import serialize_executable as s

    sharding = NamedSharding(mesh(8), P("x"))
    x = jax.device_put(np.arange(16.0, dtype=np.float32), sharding)
    compiled = jax.jit(lambda v: v + v.sum()).lower(x).compile()
    payload, *trees = s.serialize(compiled)
    same(s.deserialize_and_load(payload, *trees)(x), np.arange(16) + 120)
    raises("", lambda: s.deserialize_and_load(payload[: len(payload) // 2], *trees))


@check
def profiles_are_left():
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            with jax.profiler.TraceAnnotation("mine"):
                jax.block_until_ready(jax.jit(lambda x: x @ x)(jnp.ones((32, 32))))
            with jax.profiler.StepTraceAnnotation("step", step_num=1):
                jnp.ones(3).block_until_ready()
        found = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
        planes = [name for name in found if name.endswith(".xplane.pb")]
        assert planes and os.path.getsize(planes[0]) > 100
        data = jax.profiler.ProfileData.from_file(planes[0])
        names = [plane.name for plane in data.planes]
        assert any("TPU:0" in name for name in names), names
        lines = [line.name for plane in data.planes if "TPU:0" in plane.name for line in plane.lines]
        assert "XLA Ops" in lines and "XLA Modules" in lines, lines


@check
def checks_of_values_are_told():
    def f(x, i):
        checkify.check(jnp.all(x > 0), "x is not positive: {x}", x=x[0])
        return jnp.log(x)[i]

    every = checkify.user_checks | checkify.float_checks | checkify.index_checks
    g = jax.jit(checkify.checkify(f, errors=every))
    error, y = g(jnp.ones(3), 1)
    error.throw()
    for args, part in (((-jnp.ones(3), 1), "not positive"), ((jnp.ones(3), 7), "out-of-bounds")):
        raises(part, lambda: g(*args)[0].throw())
    h = jax.jit(checkify.checkify(lambda x: lax.fori_loop(0, 3, lambda i, c: c / (x - i), x), errors=checkify.div_checks))
    raises("division by zero", lambda: h(jnp.float32(2))[0].throw())


@check
def callbacks_of_all_kinds():
    from jax.experimental import io_callback

    seen = []
    f = jax.jit(lambda x: (jax.debug.print("x {x}", x=x), jax.debug.callback(lambda v: seen.append(float(v.sum())), x), x + 1)[2])
    same(f(jnp.arange(3.0)), np.arange(3) + 1)
    jax.vmap(lambda x: jax.debug.callback(lambda v: seen.append(float(v)), x))(jnp.arange(3.0))
    jax.effects_barrier()
    assert sorted(seen) == [0, 1, 2, 3], seen
    shape = jax.ShapeDtypeStruct((), "float32")
    g = jax.vmap(lambda x: jax.pure_callback(lambda v: np.sin(v), shape, x, vmap_method="sequential"))
    np.testing.assert_allclose(g(jnp.arange(4.0)), np.sin(np.arange(4)), rtol=1e-6)
    g = jax.vmap(lambda x: jax.pure_callback(lambda v: np.sin(v), shape, x, vmap_method="expand_dims"))
    np.testing.assert_allclose(jax.jit(g)(jnp.arange(4.0)), np.sin(np.arange(4)), rtol=1e-6)
    tree = jax.jit(lambda x: jax.pure_callback(lambda v: {"a": v * 2, "b": (v.astype("int32"),)},
                   {"a": jax.ShapeDtypeStruct((3,), "float32"), "b": (jax.ShapeDtypeStruct((3,), "int32"),)}, x))(jnp.arange(3.0))  # fmt: skip
    same(tree["a"], np.arange(3) * 2)
    order = []
    jax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: (io_callback(lambda v: order.append(int(v)), None, i, ordered=True), c)[1], 0))(5)
    jax.effects_barrier()
    assert order == [0, 1, 2, 3, 4], order
    picked = []
    k = jax.jit(lambda p, x: lax.cond(p, lambda v: (jax.debug.callback(lambda w: picked.append(1), v), v)[1],
                                      lambda v: (jax.debug.callback(lambda w: picked.append(2), v), v)[1], x))  # fmt: skip
    k(True, jnp.float32(1)), k(False, jnp.float32(1))
    jax.effects_barrier()
    assert picked == [1, 2], picked


@check
def callbacks_on_several_devices():
    seen = []
    x = jax.device_put(np.arange(16.0, dtype=np.float32), NamedSharding(mesh(8), P("x")))
    f = jax.shard_map(lambda v: (jax.debug.callback(lambda w: seen.append(float(w.sum())), v), v * 2)[1], mesh=mesh(8), in_specs=P("x"), out_specs=P("x"))
    same(jax.jit(f)(x), np.arange(16) * 2)
    jax.effects_barrier()
    assert sorted(seen) == [4.0 * i + 1 for i in range(8)], seen


@check
def errors_of_programs_name_their_reason():
    raises("", lambda: jax.jit(lambda x: x.reshape(5))(jnp.ones(4)), TypeError)
    raises("", lambda: jax.jit(lambda x: float(x))(jnp.float32(1)), TypeError)
    raises("RESOURCE_EXHAUSTED", lambda: jax.jit(lambda: jnp.zeros((1 << 35,), jnp.int8))())
    jax.config.update("jax_debug_nans", True)
    try:
        raises("nan", lambda: jax.jit(lambda x: x / 0)(jnp.float32(0)), FloatingPointError)
        raises("nan", lambda: jax.jit(jax.grad(jnp.sqrt))(jnp.float32(-1)), FloatingPointError)
    finally:
        jax.config.update("jax_debug_nans", False)
    jax.config.update("jax_debug_infs", True)
    try:
        raises("inf", lambda: jax.jit(lambda x: 1 / x)(jnp.float32(0)), FloatingPointError)
    finally:
        jax.config.update("jax_debug_infs", False)


@check
def several_threads_launch_and_copy():
    f, failed = jax.jit(lambda x, n: jnp.sin(x) * 0 + x * n), []

    def work(n):
        try:
            for i in range(20):
                d = tpu()[(n + i) % 8]
                x = jax.device_put(np.full((64,), i, np.float32), d)
                same(f(x, float(n)), np.full(64, i * n, np.float32))
                same(jax.device_put(f(x, 1.0), tpu()[n]), np.full(64, i))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed, failed[0]


@check
def maps_over_devices():
    n = 8
    x = np.arange(n * 6, dtype=np.float32).reshape(n, 2, 3)
    f = jax.pmap(lambda a, b: a * b, in_axes=(0, None))
    same(f(x, 3.0), x * 3)
    same(jax.pmap(lambda a: a.sum(), in_axes=1)(np.moveaxis(x, 0, 1)), x.sum((1, 2)))
    same(jax.pmap(lambda a: lax.ppermute(a, "i", [(i, (i + 1) % n) for i in range(n)]), axis_name="i")(x), np.roll(x, 1, 0))
    same(jax.pmap(lambda a: lax.all_gather(a, "i"), axis_name="i")(x)[3], x)
    same(jax.pmap(lambda a: lax.pmax(a, "i"), axis_name="i")(x)[0], x.max(0))
    same(jax.pmap(lambda a: lax.psum(a, "i", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]), axis_name="i")(x)[5], x[4:].sum(0))
    same(jax.pmap(jax.vmap(lambda a: a * 2))(x), x * 2)
    same(jax.pmap(lambda a: a, devices=tpu()[:4])(x[:4]), x[:4])
    step = jax.pmap(lambda w, g: w - lax.pmean(g, "d"), axis_name="d", donate_argnums=0)
    w = step(jnp.zeros((n, 3)), x[:, 0])
    same(w[2], -x[:, 0].mean(0))
    raises("", lambda: jax.pmap(lambda a: a)(np.ones((9, 2))), ValueError)


@check
def meshes_of_explicit_axes():
    m = jax.make_mesh((4, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
    with jax.set_mesh(m):
        x = jax.reshard(np.arange(64, dtype=np.float32).reshape(8, 8), P("a", "b"))
        y = jax.jit(lambda v: jnp.sin(v) + v.sum(0, keepdims=True))(x)
        assert jax.typeof(y).sharding.spec == P("a", "b"), jax.typeof(y)
        z = jax.jit(lambda v: jax.reshard(v, P("b", None)))(x)
        same(z, np.arange(64).reshape(8, 8))
        same(jnp.einsum("ij,kj->ik", x, x, out_sharding=P("a", None), precision="highest"),
             np.arange(64.0).reshape(8, 8) @ np.arange(64.0).reshape(8, 8).T)  # fmt: skip


@check
def rematerialised_and_offloaded():
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[], names_which_can_be_offloaded=["kept"], offload_src="device", offload_dst="pinned_host"
    )  # fmt: skip
    from jax.ad_checkpoint import checkpoint_name

    def f(x):
        return jnp.sum(jnp.cos(checkpoint_name(jnp.sin(x), "kept")) * x)

    x = jnp.linspace(0, 1, 16)
    np.testing.assert_allclose(
        jax.jit(jax.grad(jax.checkpoint(f, policy=policy)))(x), jax.grad(f)(x), rtol=1e-5
    )

"""Programs over eight devices: shardings that are propagated, and collectives that are written out.

An entry's function takes devices and returns the function that is run on them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

from sweep.areas import entry

MESHES = (((8,), ("x",)), ((2, 4), ("x", "y")), ((4, 2), ("x", "y")), ((2, 2, 2), ("x", "y", "z")))


def _mesh(devices, shape, names):
    return Mesh(np.array(devices[: int(np.prod(shape))]).reshape(shape), names)


def _spec(d, rank, names):
    """A partition of an array of so many dimensions over some of the names."""
    left = [str(n) for n in d.rng.permutation(list(names))]
    parts = []
    for _ in range(rank):
        which = d.integer(0, 3)
        if which == 0 or not left:
            parts.append(None)
        elif which == 1 and len(left) > 1:
            parts.append((left.pop(), left.pop()))
        else:
            parts.append(left.pop())
    return P(*parts)


def _collective(d, names):
    """A function of a block within shard_map."""
    name = str(d.choose(*names))
    some = tuple(str(n) for n in names if d.chance(0.6)) or (name,)
    which = d.integer(0, 11)
    if which == 0:
        return lambda x, n: lax.psum(x, some)
    if which == 1:
        return lambda x, n: lax.pmean(x, name)
    if which == 2:
        return lambda x, n: lax.pmax(x, some)
    if which == 3:
        return lambda x, n: lax.pmin(x, name)
    if which == 4:
        return lambda x, n: jnp.sum(lax.all_gather(x, name), 0)
    if which == 5:
        return lambda x, n: lax.all_gather(x, some, axis=0, tiled=True)[
            :: int(np.prod([n[a] for a in some]))
        ]
    if which == 6:
        shift = d.integer(1, 7)
        return lambda x, n: lax.ppermute(
            x, name, [(i, (i + shift) % n[name]) for i in range(n[name])]
        )
    if which == 7:
        return lambda x, n: lax.ppermute(x, name, [(0, n[name] - 1)])
    if which == 8:
        return lambda x, n: lax.all_to_all(
            jnp.tile(x, (n[name],) + (1,) * (x.ndim - 1)), name, 0, 0, tiled=True
        )[: x.shape[0]]
    if which == 9:
        return lambda x, n: lax.psum_scatter(
            jnp.tile(x, (n[name],) + (1,) * (x.ndim - 1)), name, tiled=True
        )
    if which == 10:
        return lambda x, n: x * (1 + lax.axis_index(name)).astype(x.dtype)
    return lambda x, n: lax.psum(jnp.stack([x, x * 2]), name)[1]


@entry("sharding", "collectives in shard_map", 1e-5)
def _(d):
    shape, names = d.choose(*MESHES)
    rank = d.integer(1, 3)
    dtype = d.choose("float32", "float32", "int32")
    x = d.array([8 * d.integer(1, 3) for _ in range(rank)], dtype)
    parts = [None] * rank
    parts[d.integer(0, rank - 1)] = tuple(str(n) for n in d.rng.permutation(list(names)))
    spec = P(*parts)
    steps = [_collective(d, names) for _ in range(d.integer(1, 3))]
    sizes = dict(zip(names, shape))
    is_gradient = d.chance(0.3) and dtype == "float32"

    def on(devices):
        def block(x):
            for step in steps:
                x = step(x, sizes)
            return x

        f = jax.shard_map(
            block, mesh=_mesh(devices, shape, names), in_specs=spec, out_specs=spec, check_vma=False
        )
        if is_gradient:
            return jax.grad(lambda x: jnp.sum(f(x) * jnp.arange(x.size).reshape(x.shape)) / x.size)
        return f

    return on, [x]


@entry("sharding", "collectives with checked replication", 1e-5)
def _(d):
    shape, names = d.choose(*MESHES)
    x = d.array((16, 8), "float32")
    name = str(d.choose(*names))
    which = d.integer(0, 3)

    def on(devices):
        mesh = _mesh(devices, shape, names)
        if which == 0:
            f = jax.shard_map(
                lambda x: lax.psum(x, name), mesh=mesh, in_specs=P(name), out_specs=P()
            )
        elif which == 1:
            f = jax.shard_map(
                lambda x: jnp.sin(x) + lax.pmean(jnp.cos(x), name),
                mesh=mesh,
                in_specs=P(name),
                out_specs=P(name),
            )
        elif which == 2:
            f = jax.shard_map(
                lambda x: lax.scan(lambda c, v: (c + lax.psum(v, name), c * v), jnp.zeros(8), x)[1],
                mesh=mesh,
                in_specs=P(None, None),
                out_specs=P(None, None),
            )
        else:
            f = jax.shard_map(
                lambda x: jax.vmap(lambda v: v * lax.axis_index(name) + lax.psum(v, name))(x),
                mesh=mesh,
                in_specs=P(name),
                out_specs=P(name),
            )
        return (
            (lambda x: jax.value_and_grad(lambda y: jnp.sum(jnp.sin(f(y))))(x)) if which != 2 else f
        )

    return on, [x]


def _jitted(d, function, args, outputs=None):
    """`function` over a mesh with drawn shardings of arguments and of a result."""
    shape, names = d.choose(*MESHES)
    specs = [_spec(d, np.ndim(a), names) for a in args]
    specs = [
        (
            s
            if all(
                n
                % int(
                    np.prod(
                        [
                            dict(zip(names, shape))[q]
                            for q in ((p,) if isinstance(p, str) else p or ())
                        ]
                    )
                )
                == 0
                for n, p in zip(np.shape(a), s)
            )
            else P()
        )
        for a, s in zip(args, specs)
    ]

    def on(devices):
        mesh = _mesh(devices, shape, names)
        return jax.jit(
            lambda *a: function(mesh, names, *a),
            in_shardings=tuple(NamedSharding(mesh, s) for s in specs),
        )

    return on, args


@entry("sharding", "products", 1e-4)
def _(d):
    m, k, n = 8 * d.integer(1, 4), 8 * d.integer(1, 4), 8 * d.integer(1, 4)
    spec = _spec(d, 2, ("x",))
    f = lambda mesh, names, x, y: lax.with_sharding_constraint(
        jnp.dot(x, y, precision="highest"), NamedSharding(mesh, spec)
    )
    if d.chance(0.4):
        g = f
        f = lambda mesh, names, x, y: jax.grad(
            lambda x, y: jnp.sum(jnp.tanh(g(mesh, names, x, y) / 9)), argnums=(0, 1)
        )(x, y)
    return _jitted(d, f, [d.array((m, k), "float32"), d.array((k, n), "float32")])


@entry("sharding", "what moves data", 1e-5)
def _(d):
    x = d.array((8 * d.integer(1, 2), 8 * d.integer(1, 3), 8), d.choose("float32", "int32"))
    index = d.rng.randint(0, 8, size=(8,)).astype("int32")
    f = d.choose(
        lambda m, n, x, i: x.reshape(x.shape[0] * x.shape[1], 8),
        lambda m, n, x, i: x.transpose(2, 0, 1),
        lambda m, n, x, i: jnp.roll(x, 3, 0),
        lambda m, n, x, i: jnp.concatenate([x, x[:3]], 0),
        lambda m, n, x, i: jnp.pad(x, ((1, 2), (0, 0), (3, 0))),
        lambda m, n, x, i: x[1:5, ::2],
        lambda m, n, x, i: x[i],
        lambda m, n, x, i: jnp.take(x, i, axis=1),
        lambda m, n, x, i: x.at[i].add(1),
        lambda m, n, x, i: x.at[:, i, 2].set(0),
        lambda m, n, x, i: lax.dynamic_slice(x, (i[0], 0, i[1]), (3, 4, 2)),
        lambda m, n, x, i: lax.dynamic_update_slice(x, x[:2], (i[0], 0, 0)),
        lambda m, n, x, i: jnp.flip(x, (0, 1)),
        lambda m, n, x, i: jnp.sort(x, axis=0),
        lambda m, n, x, i: jnp.cumsum(x, axis=1),
        lambda m, n, x, i: jnp.argmax(x, axis=0),
        lambda m, n, x, i: jnp.repeat(x, 2, axis=1),
        lambda m, n, x, i: jnp.where(x > 0, x, x[:1]),
        lambda m, n, x, i: jnp.take_along_axis(x, jnp.argsort(x, 0), 0),
    )
    return _jitted(d, f, [x, index])


@entry("sharding", "what computes", 1e-4)
def _(d):
    x = d.array((8 * d.integer(1, 2), 8 * d.integer(1, 3), 8), "float32")
    w = d.array((3, 3, 8, 8), "float32")
    f = d.choose(
        lambda m, n, x, w: jax.nn.softmax(x, axis=0),
        lambda m, n, x, w: jnp.mean(x, axis=(0, 2)),
        lambda m, n, x, w: jnp.var(x),
        lambda m, n, x, w: jnp.max(x, axis=1),
        lambda m, n, x, w: jax.nn.logsumexp(x, axis=1),
        lambda m, n, x, w: lax.scan(lambda c, v: (c * 0.5 + v, c), x[0], x),
        lambda m, n, x, w: jnp.median(x, axis=0),
        lambda m, n, x, w: jax.grad(lambda x: jnp.sum(jnp.sin(x) * x[::-1]))(x),
        lambda m, n, x, w: jnp.linalg.norm(x, axis=1),
        lambda m, n, x, w: lax.conv_general_dilated(
            x[None],
            w,
            (1, 1),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            precision="highest",
        ),
        lambda m, n, x, w: jax.random.uniform(jax.random.key(3), x.shape) * x,
        lambda m, n, x, w: lax.while_loop(lambda c: jnp.sum(abs(c)) < 1e5, lambda c: c * 2 + 1, x),
        lambda m, n, x, w: lax.cond(x[0, 0, 0] > 0, jnp.sin, jnp.cos, x),
        lambda m, n, x, w: jnp.einsum("abc,adc->bd", x, x, precision="highest"),
        lambda m, n, x, w: lax.reduce_window(x, -jnp.inf, lax.max, (2, 3, 1), (1, 2, 1), "SAME"),
        lambda m, n, x, w: jnp.fft.fft(x, axis=1),
        lambda m, n, x, w: lax.top_k(x, 3),
    )
    return _jitted(d, f, [x, w])


@entry("sharding", "constraints within", 1e-5)
def _(d):
    x = d.array((8, 16), "float32")
    specs = [d.choose(P("x"), P(None, "x"), P(), P(("x",), None)) for _ in range(3)]

    def f(mesh, names, x):
        for i, s in enumerate(specs):
            x = lax.with_sharding_constraint(jnp.sin(x) + i, NamedSharding(mesh, s))
        return x, jnp.sum(x)

    return _jitted(d, f, [x])


@entry("sharding", "axes in types", 1e-4, jit_only=True)
def _(d):
    """Arrays whose types hold their shardings, operation by operation and jitted."""
    names = ("x", "y")
    shape = d.choose((2, 4), (4, 2), (2, 2))
    a, b = d.array((8, 16), "float32"), d.array((16, 8), "float32")
    left, right = d.choose(P("x", "y"), P("x"), P(None, "x")), d.choose(
        P("y", "x"), P(), P("x", "y")
    )
    out = d.choose(P("x"), P("x", "y"), P(), P("y", "x"))
    f = d.choose(
        lambda a, b: jnp.sin(a) * 2,
        lambda a, b: a + a.sum(0),
        lambda a, b: a.T,
        lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=out, precision="highest"),
        lambda a, b: jnp.dot(a, b, out_sharding=out, precision="highest"),
        lambda a, b: jax.sharding.reshard(a, out),
        lambda a, b: jnp.max(a, 1),
        lambda a, b: a * jnp.ones((8, 16)),
        lambda a, b: jax.sharding.reshard(a, P()).reshape(4, 2, 16),
        lambda a, b: jnp.concatenate([a, a], 0),
        lambda a, b: jax.vmap(jnp.sin)(a),
        lambda a, b: a.astype("bfloat16"),  # and back would be rounded or not, as XLA likes
        lambda a, b: jnp.where(a > 0, a, 0),
        lambda a, b: jax.grad(lambda a: (a * a).sum())(a),
        lambda a, b: jnp.cumsum(jax.sharding.reshard(a, P("x")), 1),
        lambda a, b: lax.scan(
            lambda c, v: (c + v, c),
            jax.sharding.reshard(b, P())[:, 0] * 0,
            jax.sharding.reshard(a, P()),
        )[0],
    )
    is_jitted = d.chance(0.6)

    def on(devices):
        mesh = Mesh(
            np.array(devices[: int(np.prod(shape))]).reshape(shape),
            names,
            axis_types=(jax.sharding.AxisType.Explicit,) * 2,
        )

        def run(a, b):
            with jax.set_mesh(mesh):
                return (jax.jit(f) if is_jitted else f)(
                    jax.device_put(a, left), jax.device_put(b, right)
                )

        return run

    return on, [a, b]


@entry("sharding", "maps over devices", 1e-5, jit_only=True)
def _(d):
    x = d.array((8, 4), "float32")
    f = d.choose(
        lambda v: lax.psum(v, "i"),
        lambda v: v - lax.pmean(v, "i"),
        lambda v: lax.all_gather(v, "i")[::2],
        lambda v: lax.ppermute(v, "i", [(i, (i + 1) % 8) for i in range(8)]),
        lambda v: lax.pmax(v, "i") + lax.axis_index("i"),
        lambda v: lax.psum_scatter(jnp.tile(v, 2), "i"),
        lambda v: lax.all_to_all(jnp.tile(v, 2), "i", 0, 0),
        lambda v: jax.grad(lambda w: jnp.sum(jnp.sin(lax.psum(w, "i"))))(v),
        lambda v: lax.psum(v, "i", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]),
        lambda v: lax.all_gather(v, "i", axis_index_groups=[[0, 1], [2, 3], [4, 5], [6, 7]]),
        lambda v: lax.fori_loop(0, 3, lambda i, c: lax.psum(c, "i") / 8 + v, v),
        lambda v: lax.cond(lax.axis_index("i") > 3, jnp.sin, jnp.cos, v),
    )
    return lambda devices: jax.pmap(f, axis_name="i", devices=devices[:8]), [x]


@entry("sharding", "random numbers and keys", None)
def _(d):
    key = d.array((2,), "uint32", "full")
    f = d.choose(
        lambda m, n, k: jax.random.uniform(jax.random.wrap_key_data(k), (8, 16)),
        lambda m, n, k: jax.random.bits(jax.random.wrap_key_data(k), (16, 8)),
        lambda m, n, k: jax.random.key_data(jax.random.split(jax.random.wrap_key_data(k), (8, 8))),
        lambda m, n, k: jax.random.randint(jax.random.wrap_key_data(k), (8, 8), 0, 100),
    )
    spec = d.choose(P("x"), P(None, "x"), P())
    return _jitted(
        d, lambda m, n, k: lax.with_sharding_constraint(f(m, n, k), NamedSharding(m, spec)), [key]
    )


@entry("sharding", "loops and branches that exchange", 1e-4)
def _(d):
    x = d.array((16, 8), "float32", "small")
    f = d.choose(
        lambda v: lax.fori_loop(
            0, 3, lambda i, c: lax.ppermute(c, "x", [(j, (j + 1) % 8) for j in range(8)]) + v, v
        ),
        lambda v: lax.while_loop(
            lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] + lax.psum(v, "x")), (0, v)
        )[1],
        lambda v: lax.scan(lambda c, w: (c + lax.pmean(w, "x"), c), jnp.zeros(8), v)[1],
        lambda v: lax.cond(
            lax.psum(jnp.sum(v), "x") > 0, lambda w: lax.psum(w, "x"), lambda w: w * 2, v
        ),
        lambda v: jax.checkpoint(lambda w: jnp.sin(lax.psum(w, "x")))(v),
        lambda v: jax.vmap(lambda w: lax.all_gather(w, "x", tiled=True)[:8])(v),
    )
    is_gradient = d.chance(0.4)

    def on(devices):
        g = jax.shard_map(
            f,
            mesh=Mesh(np.array(devices[:8]), ("x",)),
            in_specs=P("x"),
            out_specs=P("x"),
            check_vma=False,
        )
        return jax.jit(jax.grad(lambda x: jnp.sum(g(x) ** 2))) if is_gradient else jax.jit(g)

    return on, [x]

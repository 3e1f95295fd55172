"""Control flow and transformations: loops, branches, custom rules, checkpoints, maps of maps."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from sweep.areas import entry


@entry("control", "cond", 2e-6, grad=True)
def _(d):
    x = d.array(d.shape(0, 2, zero=0), "float32")
    p = d.array((), "bool")
    which = d.integer(0, 2)
    if which == 0:
        return lambda x, p: lax.cond(p, lambda x: jnp.sin(x), lambda x: x * 2, x), [x, p]
    if which == 1:
        return lambda x, p: lax.cond(
            p, lambda x: (x, jnp.sum(x)), lambda x: (x + 1, x.size * 1.0), x
        ), [x, p]
    return lambda x, p: jax.vmap(lambda v, q: lax.cond(q > 0, jnp.cos, jnp.tanh, v))(
        jnp.stack([x] * 3), jnp.arange(3) - 1
    ), [x, p]


@entry("control", "switch", 2e-6, grad=True)
def _(d):
    x, i = d.array(d.shape(0, 2), "float32"), d.array((), "int32")
    branches = [jnp.sin, jnp.cos, lambda v: v * v, lambda v: -v][: d.integer(1, 4)]
    if d.chance(0.3):
        return lambda x, i: jax.vmap(lambda j: lax.switch(j, branches, x))(jnp.arange(4) + i), [
            x,
            i,
        ]
    return lambda x, i: lax.switch(i, branches, x), [x, i]


@entry("control", "while_loop", 1e-5)
def _(d):
    n, x = d.rng.randint(0, 9, size=()).astype("int32").reshape(()), d.array(
        d.shape(0, 2), "float32", "small"
    )
    which = d.integer(0, 3)
    if which == 0:
        return lambda x, n: lax.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, jnp.sin(c[1]) + 1), (0, x)
        ), [x, n]
    if which == 1:
        return lambda x, n: lax.while_loop(
            lambda c: jnp.sum(c) < 100, lambda c: c * 2 + 1, jnp.abs(x) + 1
        ), [x.reshape(-1)[:1], n]
    if which == 2:
        return lambda x, n: jax.vmap(
            lambda m: lax.while_loop(lambda c: c[0] < m, lambda c: (c[0] + 1, c[1] + x), (0, x))
        )(jnp.arange(4) + n), [x, n]
    return lambda x, n: jax.jvp(
        lambda y: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, jnp.sin(c[1])), (0, y))[
            1
        ],
        (x,),
        (x,),
    ), [x, n]


@entry("control", "fori_loop", 1e-4, grad=True)
def _(d):
    x, n = d.array(d.shape(0, 3), "float32", "small"), d.integer(0, 6)
    which = d.integer(0, 2)
    if which == 0:
        return lambda x: lax.fori_loop(0, n, lambda i, c: jnp.cos(c) + i, x), [x]
    if which == 1:
        return lambda x: lax.fori_loop(
            0, n, lambda i, c: lax.fori_loop(0, 3, lambda j, e: e + jnp.sin(e) * j, c), x
        ), [x]
    y = d.array((7, 3), "float32")
    return lambda y: lax.fori_loop(0, 7, lambda i, c: c.at[i].set(c[6 - i] * 2), y), [y]


@entry("control", "scan", 1e-5, grad=True)
def _(d):
    n = d.integer(0 if d.chance(0.1) else 1, 7)
    xs, c = d.array((n,) + d.shape(0, 2, zero=0), "float32", "small"), d.array((), "float32")
    reverse, unroll = d.chance(0.3), d.choose(1, 1, 2)
    which = d.integer(0, 4)
    if which == 0:
        return lambda c, xs: lax.scan(
            lambda c, x: (c + jnp.sum(x), jnp.sin(x) * c), c, xs, reverse=reverse, unroll=unroll
        ), [c, xs]
    if which == 1:
        return lambda c, xs: lax.scan(lambda c, _: (jnp.cos(c), (c, c * 2)), c, None, length=n), [
            c,
            xs,
        ]
    if which == 2:
        return lambda c, xs: jax.vmap(
            lambda c: lax.scan(lambda c, x: (c * 0.5 + jnp.mean(x), c), c, xs)
        )(jnp.arange(3.0) + c), [c, xs]
    if which == 3:
        return lambda c, xs: lax.scan(
            jax.checkpoint(lambda c, x: (jnp.tanh(c + jnp.sum(x)), x + c)), c, xs
        ), [c, xs]
    w = d.array((5, 5), "float32", "small")
    h = d.array((2, 5), "float32")
    return lambda h, w: lax.scan(
        lambda h, _: ((jnp.tanh(jnp.dot(h, w, precision="highest")),) * 2), h, None, length=4
    ), [h, w]


@entry("control", "associative_scan", 1e-5, grad=True)
def _(d):
    xs = d.array((d.integer(1, 17),) + d.shape(0, 1, zero=0), "float32", "small")
    f, reverse = d.choose(jnp.add, jnp.multiply, jnp.maximum), d.chance(0.4)
    if d.chance(0.3):
        return lambda x: lax.associative_scan(
            lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, x + 1), reverse=reverse
        ), [xs]
    return lambda x: lax.associative_scan(f, x, reverse=reverse), [xs]


@entry("control", "custom rules", 1e-5)
def _(d):
    x = d.array(None, "float32")

    @jax.custom_jvp
    def f(x):
        return jnp.sin(x) * x

    f.defjvp(lambda p, t: (f(*p), jnp.cos(p[0]) * t[0]))

    @jax.custom_vjp
    def g(x):
        return jnp.exp(-x * x)

    g.defvjp(lambda x: (g(x), x), lambda x, t: (t * x,))
    which = d.integer(0, 3)
    if which == 0:
        return lambda x: jax.grad(lambda y: jnp.sum(f(y) + g(y)))(x), [x]
    if which == 1:
        return lambda x: jax.jvp(f, (x,), (x,)), [x]
    if which == 2:
        return lambda x: jax.vmap(jax.grad(lambda y: f(y) * g(y)))(x.reshape(-1)), [x]
    return lambda x: jax.linearize(f, x)[1](x), [x]


@entry("control", "checkpoint", 1e-5)
def _(d):
    x = d.array(None, "float32")
    policy = d.choose(
        None, jax.checkpoint_policies.dots_saveable, jax.checkpoint_policies.nothing_saveable
    )
    f = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)), policy=policy)
    return jax.grad(lambda x: jnp.sum(f(f(x)))), [x]


@entry("control", "jit of jit and closures", 1e-5)
def _(d):
    x, y = d.array((3, 4), "float32"), d.array((4,), "float32")
    inner = jax.jit(lambda a, b: a * b + 1)
    return jax.jit(
        lambda x, y: (inner(x, y), inner(x, inner(y, y)), jnp.sum(inner(x, 2.0)), (), 3)
    ), [x, y]


@entry("control", "jacobians", 1e-4)
def _(d):
    x = d.array((d.integer(1, 6),), "float32", "positive")
    f = d.choose(jax.jacfwd, jax.jacrev, jax.hessian)
    g = (
        (lambda x: jnp.sum(jnp.sin(x) * x))
        if f is jax.hessian
        else (lambda x: jnp.cumsum(jnp.sin(x)))
    )
    return f(g), [x]


@entry("control", "vmap of vmap", 1e-5)
def _(d):
    x = d.array((3, 4, 5), "float32")
    axes = d.choose((0, 0), (1, 0), (2, 1), (0, 1))
    return lambda x: jax.vmap(
        jax.vmap(lambda v: jnp.cumsum(v) / (1 + jnp.max(abs(v))), in_axes=axes[1]),
        in_axes=axes[0],
        out_axes=1,
    )(x), [x]


@entry("control", "custom_root and linear_solve", 1e-3)
def _(d):
    a = d.array((4, 4), "float32")
    a = a @ a.T / 9 + 4 * jnp.eye(4)
    b = d.array((4,), "float32")
    which = d.choose(
        jax.scipy.sparse.linalg.cg,
        jax.scipy.sparse.linalg.bicgstab,
        partial(jax.scipy.sparse.linalg.gmres, maxiter=3),
    )
    return lambda a, b: which(lambda v: jnp.dot(a, v, precision="highest"), b)[0], [a, b]

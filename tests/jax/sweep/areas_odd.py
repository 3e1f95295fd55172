"""Odd types, values and corners: small floats, four-bit integers, empty arrays, algorithms of
products, asked accuracies, composites."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from sweep.areas import entry
from sweep.draw import ALL, FLOATS

EIGHT = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz")


@entry("odd", "small floats")
def _(d):
    a, b = d.choose(*EIGHT), d.choose("float32", "bfloat16", "float16", *EIGHT)
    x = d.array(None, a, d.choose("default", "edge", "unit"))
    which = d.integer(0, 5)
    if which == 0:
        return lambda x: x.astype(b), [x]
    if which == 1:
        return lambda x: x + x, [x]
    if which == 2:
        return lambda x: (x < 1, jnp.isnan(x), -x, abs(x)), [x]
    if which == 3:
        return lambda x: lax.bitcast_convert_type(x, jnp.uint8), [x]
    if which == 4:
        return lambda x: jnp.sum(x.astype("float32")), [x]
    y = d.array((8, 16), a, "unit")
    return lambda y: lax.dot_general(
        y, y, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32
    ), [y]


@entry("odd", "four bits")
def _(d):
    t = d.choose("int4", "uint4")  # what overflows four bits JAX's CPU does not cut
    x = d.array(d.shape(1, 3), "int8", "small")
    x = abs(x) if t == "uint4" else x
    which = d.integer(0, 5)
    if which == 0:
        return lambda x: x.astype(t).astype("int32"), [x]
    if which == 1:
        return lambda x: (x.astype(t) + x.astype(t)).astype("int8"), [x]
    if which == 2:
        return lambda x: jnp.max(x.astype(t), initial=0).astype("int8"), [x]
    if which == 3:
        return lambda x: (x.astype(t) < x[..., ::-1].astype(t)), [x]
    if which == 4:
        return lambda x: jnp.transpose(x.astype(t)).astype("float32"), [x]
    return lambda x: lax.dot_general(
        x.astype("int4"),
        x.astype("int4"),
        (((x.ndim - 1,), (x.ndim - 1,)), ((), ())),
        preferred_element_type=jnp.int32,
    ), [x]


@entry("odd", "nothing in it")
def _(d):
    x = d.array(
        d.choose((0,), (0, 3), (3, 0), (0, 0), (2, 0, 3)),
        d.choose("float32", "int32", "bool", "complex64"),
    )
    y = d.array((0, 4) if x.ndim < 2 else (x.shape[-1], 4), "float32")
    f = d.choose(
        lambda x: x + 1,
        lambda x: jnp.sum(x),
        lambda x: jnp.sum(x, -1),
        lambda x: jnp.prod(x, 0),
        lambda x: jnp.sort(x, -1),
        lambda x: jnp.cumsum(x, -1),
        lambda x: jnp.concatenate([x, jnp.ones(x.shape[:-1] + (2,), x.dtype)], -1),
        lambda x: x.reshape(-1),
        lambda x: jnp.pad(x, 1),
        lambda x: x.T,
        lambda x: jnp.where(x == 0, x, x),
        lambda x: x[..., :0],
        lambda x: jnp.take(x, jnp.zeros((0,), jnp.int32), axis=-1),
        lambda x: jnp.any(x),
        lambda x: jnp.all(x, -1),
        lambda x: jax.vmap(jnp.sin)(x),
        lambda x: lax.map(lambda v: v, x),
        lambda x: lax.scan(lambda c, v: (c + 1, v), 0, x),
        lambda x: jnp.stack([x, x]),
        lambda x: jnp.unique(x, size=3, fill_value=1),
        lambda x: jnp.broadcast_to(x, (2,) + x.shape),
        lambda x: jnp.argsort(x, -1),
        lambda x: jnp.flip(x),
        lambda x: jnp.tile(x, 2),
        lambda x: jnp.dot(x, jnp.ones((x.shape[-1], 4), x.dtype)),
        lambda x: x.at[..., :0].set(1),
        lambda x: jnp.linalg.norm(x.ravel().astype("float32")),
        lambda x: jnp.repeat(x, 2, 0),
        lambda x: jnp.roll(x, 1, -1),
        lambda x: jax.ops.segment_sum(x.ravel(), jnp.zeros(x.size, jnp.int32), 3),
        lambda x: jax.nn.softmax(x.astype("float32"), 0),
    )
    return f, [x]


@entry("odd", "algorithms of products", 0.3)
def _(d):
    p = lax.DotAlgorithmPreset
    which = d.choose(
        p.BF16_BF16_F32,
        p.BF16_BF16_F32_X3,
        p.BF16_BF16_F32_X6,
        p.F32_F32_F32,
        p.DEFAULT,
        p.BF16_BF16_F32_X9,
    )
    x, y = d.array((5, 17), "float32"), d.array((17, 6), "float32")
    return lambda x, y: lax.dot(x, y, precision=which), [x, y]


@entry("odd", "asked accuracies", 1e-5)
def _(d):
    mode = d.choose(
        lax.AccuracyMode.HIGHEST,
        lax.AccuracyMode.DEFAULT,
        lax.Tolerance(atol=1e-5, rtol=0.0, ulps=2),
    )
    f = d.choose(
        lax.exp,
        lax.exp2,
        lax.log,
        lax.log1p,
        lax.tanh,
        lax.sin,
        lax.cos,
        lax.tan,
        lax.rsqrt,
        lax.sqrt,
        lax.cbrt,
        lax.expm1,
        lax.logistic,
    )
    return lambda x: f(x, accuracy=mode), [d.array(None, "float32", "positive")]


@entry("odd", "composites and barriers", 1e-5)
def _(d):
    x = d.array((3, 5), "float32")
    f = lax.composite(lambda x, *, scale: jnp.sin(x) * scale, "my.scaled", version=2)
    return lambda x: (
        f(x, scale=np.float32(3.0)),
        lax.optimization_barrier((x, x + 1)),
        lax.stop_gradient(x),
    ), [x]


@entry("odd", "many arguments and results")
def _(d):
    n = d.integer(20, 120)
    args = [d.array(d.shape(0, 2), d.choose(*ALL)) for _ in range(n)]
    return (
        lambda *a: tuple(jnp.logical_not(x) if x.dtype == bool else x + x for x in a)
        + (jnp.float32(3),),
        args,
    )


@entry("odd", "constants", 1e-6)
def _(d):
    c = d.array(d.shape(1, 3), d.choose(*ALL))
    return lambda x: (
        jnp.asarray(c),
        jnp.asarray(c) == jnp.asarray(c),
        x,
        jnp.zeros((3, 4), jnp.bfloat16),
        jnp.full((2,), 2 + 1j),
    ), [d.array((), "float32")]


@entry("odd", "long and large", 1e-5)
def _(d):
    shape = d.choose(
        (1, 5000),
        (5000, 1),
        (3, 1, 700),
        (2, 1, 1, 1, 2, 1, 3),
        (1,) * 8,
        (300, 300),
        (129, 1025),
        (2, 2, 2, 2, 2, 2, 2, 2),
    )
    x = d.array(shape, d.choose("float32", "bfloat16", "int8", "int32", "bool"))
    f = d.choose(
        lambda x: x.T,
        lambda x: jnp.sum(x),
        lambda x: jnp.sum(x, 0),
        lambda x: x.reshape(-1)[::-1],
        lambda x: jnp.sort(x, -1),
        lambda x: jnp.cumsum(x, -1, dtype="float32"),
        lambda x: jnp.argmax(x, -1),
        lambda x: x == jnp.roll(x, 1, 0),
        lambda x: jnp.concatenate([x, x], 0),
        lambda x: jnp.max(x, tuple(range(x.ndim - 1))),
    )
    return f, [x]


@entry("odd", "higher derivatives", 1e-4)
def _(d):
    x = d.array((d.integer(1, 5),), "float32", "positive")
    f = d.choose(
        jnp.sin,
        jnp.tanh,
        jnp.exp,
        jnp.log,
        lambda x: x**3,
        jnp.sqrt,
        jax.nn.gelu,
        jax.scipy.special.erf,
        jnp.arctan,
        jax.nn.softplus,
    )
    g = jax.grad(jax.grad(lambda v: f(v)))
    return jax.vmap(g), [x]


@entry("odd", "maps of what is not elementwise", 1e-4)
def _(d):
    x = d.array((3, 4, 5), "float32")
    i = d.rng.randint(0, 4, size=(3,)).astype("int32")
    f = d.choose(
        lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 3)),
        lambda x, i: lax.dynamic_update_slice(x, x[:1, :2], (i, i)),
        lambda x, i: jnp.sort(x, 0),
        lambda x, i: x[i],
        lambda x, i: x.at[i].set(2),
        lambda x, i: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "SAME"),
        lambda x, i: jnp.argmax(x),
        lambda x, i: jnp.dot(x, x.T, precision="highest"),
        lambda x, i: lax.cond(i > 1, jnp.sin, jnp.cos, x),
        lambda x, i: lax.fori_loop(0, i, lambda j, c: c * 2, x),
        lambda x, i: lax.top_k(x, 2),
        lambda x, i: jnp.cumsum(x, 1),
        lambda x, i: lax.conv_general_dilated(
            x[None, None], x[None, None, :2, :2], (1, 1), "VALID", precision="highest"
        ),
        lambda x, i: jnp.linalg.norm(x),
        lambda x, i: jax.random.uniform(jax.random.key(i), (3,)),
        lambda x, i: jnp.searchsorted(jnp.sort(x[0]), x[1]),
        lambda x, i: jnp.linalg.det(x[:4, :4] + 9 * jnp.eye(4)),
        lambda x, i: jnp.pad(x, ((1, 0), (0, 2))),
        lambda x, i: jnp.nonzero(x > 0, size=4),
    )
    return jax.vmap(f), [x, i]

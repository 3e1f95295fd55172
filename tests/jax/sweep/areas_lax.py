"""jax.lax beyond elementwise functions: shapes, reductions, windows, products, indices, sorts."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from sweep.areas import entry
from sweep.draw import ALL, COMPLEX, FLOATS, INTEGERS, NUMBERS, REALS, SIGNED

INEXACT = FLOATS + COMPLEX


@entry("lax", "broadcast and reshape")
def _(d):
    x = d.array(None, d.choose(*ALL, "int4"))
    which = d.integer(0, 6)
    if which == 0:
        sizes = d.shape(0, 2)
        return lambda x: lax.broadcast(x, sizes), [x]
    if which == 1:
        shape = d.shape(x.ndim, x.ndim + 2)
        at = tuple(sorted(int(i) for i in d.rng.permutation(len(shape))[: x.ndim]))
        shape = tuple(
            x.shape[at.index(i)] if i in at and x.shape[at.index(i)] != 1 else n
            for i, n in enumerate(shape)
        )
        return lambda x: lax.broadcast_in_dim(x, shape, at), [x]
    if which == 2 and x.size:
        shape = d.split(x.size)
        return lambda x: lax.reshape(x, shape), [x]
    if which == 3:
        order = d.permutation(x.ndim)
        return lambda x: lax.transpose(x, order), [x]
    if which == 4:
        dims = tuple(i for i in range(x.ndim) if d.chance(0.5))
        return lambda x: lax.rev(x, dims), [x]
    if which == 5:
        at = d.integer(0, x.ndim)
        return lambda x: lax.squeeze(lax.expand_dims(x, (at,)), (at,)), [x]
    reps = tuple(d.integer(1, 3) for _ in x.shape)
    return lambda x: lax.tile(x, reps), [x]


@entry("lax", "iota and full")
def _(d):
    shape, dtype = d.shape(1, 3), d.choose(*NUMBERS)
    axis = d.integer(0, len(shape) - 1)
    return lambda x: (
        lax.broadcasted_iota(jnp.dtype(dtype), shape, axis),
        lax.full(shape, x),
        lax.full_like(x, 7),
    ), [d.array((), dtype)]


@entry("lax", "concatenate")
def _(d):
    shape, dtype = d.shape(1, 4), d.choose(*ALL)
    axis = d.integer(0, len(shape) - 1)
    parts = [
        d.array(
            shape[:axis] + (d.integer(0 if d.chance(0.2) else 1, 9),) + shape[axis + 1 :], dtype
        )
        for _ in range(d.integer(1, 5))
    ]
    return lambda *x: lax.concatenate(x, axis), parts


@entry("lax", "pad")
def _(d):
    x = d.array(d.shape(1, 3), d.choose(*ALL))
    config = [(d.integer(-2, 3), d.integer(-2, 3), d.integer(0, 2)) for _ in x.shape]
    config = [
        c if n and n + c[0] + c[1] + c[2] * max(n - 1, 0) >= 0 else (1, 1, 0)
        for n, c in zip(x.shape, config)
    ]
    return lambda x, v: lax.pad(x, v, config), [x, d.array((), x.dtype.name)]


@entry("lax", "slice")
def _(d):
    x = d.array(d.shape(1, 4), d.choose(*ALL))
    start = [d.integer(0, n) for n in x.shape]
    stop = [d.integer(s, n) for s, n in zip(start, x.shape)]
    step = [d.integer(1, 3) for _ in x.shape] if d.chance(0.6) else None
    return lambda x: lax.slice(x, start, stop, step), [x]


@entry("lax", "dynamic_slice", grad=True)
def _(d):
    x = d.array(d.shape(1, 4, zero=0), d.choose("float32", *ALL))
    sizes = [d.integer(1, n) for n in x.shape]
    index = d.choose("int32", "uint8", "int8", "uint32")
    at = [d.array((), index) for _ in x.shape]
    if d.chance(0.5):
        return lambda x, *at: lax.dynamic_slice(x, at, sizes), [x, *at]
    return lambda x, u, *at: lax.dynamic_update_slice(x, u, at), [
        x,
        d.array(sizes, x.dtype.name),
        *at,
    ]


@entry("lax", "reduce", 1e-5, grad=True)
def _(d):
    name = d.choose("sum", "prod", "max", "min", "and", "or", "xor")
    dtype = (
        d.choose(*(INTEGERS + ("bool",)))
        if name in ("and", "or", "xor")
        else d.choose("float32", *NUMBERS)
    )
    if name in ("max", "min") and dtype == "complex64":
        dtype = "float32"
    x = d.array(
        None, dtype, "default" if name != "prod" else "positive" if dtype in INEXACT else "small"
    )
    axes = tuple(i for i in range(x.ndim) if d.chance(0.5))
    f = getattr(lax, "reduce_" + name)
    return lambda x: f(x, axes), [x]


@entry("lax", "reduce by a function", 1e-5)
def _(d):
    x = d.array(None, d.choose("float32", "int32", "uint8"))
    axes = tuple(i for i in range(x.ndim) if d.chance(0.5))
    which = d.integer(0, 3)
    if which == 0:
        return lambda x: lax.reduce(
            x, jnp.ones((), x.dtype), lambda a, b: a + b + jnp.ones((), x.dtype) * 0, axes
        ), [x]
    if which == 1:
        return lambda x: lax.reduce(
            (x, -x),
            (jnp.zeros((), x.dtype),) * 2,
            lambda a, b: (jnp.maximum(a[0], b[0]), jnp.minimum(a[1], b[1])),
            axes,
        ), [x]
    if which == 2:
        y = d.array(x.shape, "int32")
        return lambda x, y: lax.reduce(
            (x, y),
            (jnp.zeros((), x.dtype), jnp.int32(1 << 30)),
            lambda a, b: (
                jnp.where((a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1])), a[0], b[0]),
                jnp.where((a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1])), a[1], b[1]),
            ),
            axes,
        ), [x, y]
    return lambda x: lax.reduce(
        x, jnp.zeros((), x.dtype), lambda a, b: lax.max(a, lax.add(b, jnp.zeros((), x.dtype))), axes
    ), [x]


@entry("lax", "argmin and argmax")
def _(d):
    x = d.array(d.shape(1, 4, zero=0), d.choose(*REALS, "bool"), d.choose("default", "edge"))
    axis, f, t = (
        d.integer(0, x.ndim - 1),
        d.choose(lax.argmin, lax.argmax),
        d.choose("int32", "uint8", "int16"),
    )
    return lambda x: f(x, axis, jnp.dtype(t)), [x]


@entry("lax", "cumulative", 1e-5, grad=True)
def _(d):
    name = d.choose("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
    dtype = "float32" if name == "cumlogsumexp" else d.choose("float32", *REALS)
    x = d.array(
        d.shape(1, 4),
        dtype,
        (
            "positive"
            if name == "cumprod" and dtype in FLOATS
            else "small" if name == "cumprod" else "default"
        ),
    )
    axis, reverse, f = d.integer(0, x.ndim - 1), d.chance(0.4), getattr(lax, name)
    return lambda x: f(x, axis=axis, reverse=reverse), [x]


@entry("lax", "reduce_window", 1e-5)
def _(d):
    rank = d.integer(1, 4)
    x = d.array(
        tuple(d.integer(1, 9) for _ in range(rank)),
        d.choose("float32", "int32", "bfloat16", "int8"),
    )
    window = [d.integer(1, 3) for _ in range(rank)]
    strides = [d.integer(1, 2) for _ in range(rank)]
    base = [d.integer(1, 2) for _ in range(rank)]
    dilation = [d.integer(1, 2) for _ in range(rank)]
    padding = d.choose("SAME", "VALID", [(d.integer(0, 2), d.integer(0, 2)) for _ in range(rank)])
    f, init = d.choose((lax.add, 0), (lax.max, -100), (lax.min, 100), (lax.mul, 1))
    return lambda x: lax.reduce_window(
        x, jnp.array(init, x.dtype), f, window, strides, padding, base, dilation
    ), [x]


@entry("lax", "select_and_scatter by gradient of a pool", 1e-5)
def _(d):
    x = d.array((d.integer(1, 2), d.integer(3, 9), d.integer(3, 9), d.integer(1, 4)), "float32")
    window, stride = d.integer(1, 3), d.integer(1, 3)
    padding = d.choose("SAME", "VALID")
    f = d.choose((lax.max, -jnp.inf), (lax.add, 0.0))
    return jax.grad(
        lambda x: jnp.sum(
            lax.reduce_window(
                x, f[1], f[0], (1, window, window, 1), (1, stride, stride, 1), padding
            )
            ** 2
        )
    ), [x]


@entry("lax", "dot_general", 0.15)
def _(d):
    nb, nc = d.integer(0, 2), d.integer(0, 2)
    batch, contract = [d.integer(1, 4) for _ in range(nb)], [d.integer(1, 9) for _ in range(nc)]
    dtype = d.choose("float32", *NUMBERS, "bool", "int4")
    left = (
        [(n, "b", i) for i, n in enumerate(batch)]
        + [(n, "c", i) for i, n in enumerate(contract)]
        + [(d.integer(1, 9), "f", 0) for _ in range(d.integer(0, 2))]
    )
    right = left[: nb + nc] + [(d.integer(1, 9), "f", 0) for _ in range(d.integer(0, 2))]
    left = [left[i] for i in d.permutation(len(left))]
    right = [right[i] for i in d.permutation(len(right))]

    def find(side, kind, n):
        return [next(j for j, s in enumerate(side) if s[1] == kind and s[2] == i) for i in range(n)]

    dims = (
        (find(left, "c", nc), find(right, "c", nc)),
        (find(left, "b", nb), find(right, "b", nb)),
    )
    precision = d.choose("highest", "high", None) if dtype in ("float32", "complex64") else None
    result = (
        "float32"
        if dtype in ("bfloat16", "float16") and d.chance(0.5)
        else "int32" if dtype in ("int8", "int4") else None
    )
    x, y = d.array([s[0] for s in left], dtype), d.array([s[0] for s in right], dtype)
    return lambda x, y: lax.dot_general(
        x, y, dims, precision=precision, preferred_element_type=result and jnp.dtype(result)
    ), [x, y]


@entry("lax", "dot_general at the highest precision", 2e-5, grad=True)
def _(d):
    b, m, k, n = d.choose((), (2,), (2, 3)), d.integer(1, 40), d.integer(1, 140), d.integer(1, 40)
    dtype = d.choose("float32", "float32", "complex64")
    r = tuple(range(len(b)))
    return lambda x, y: lax.dot_general(
        x, y, (((len(b) + 1,), (len(b),)), (r, r)), precision="highest"
    ) / 10, [d.array(b + (m, k), dtype), d.array(b + (k, n), dtype)]


@entry("lax", "conv_general_dilated", 0.3)
def _(d):
    return _conv(d, d.choose(None, "highest"))


@entry("lax", "conv_general_dilated at the highest precision", 1e-4, grad=True)
def _(d):
    return _conv(d, "highest", "float32")


def _conv(d, precision, dtype=None):
    space = d.integer(0, 3)
    groups, bgroups = d.choose((1, 1), (1, 1), (2, 1), (3, 1), (1, 2))
    cin, cout, batch = (
        d.integer(1, 3),
        groups * bgroups * d.integer(1, 4),
        bgroups * d.integer(1, 2),
    )
    kernel = [d.integer(1, 3) for _ in range(space)]
    size = [d.integer(k, 9) for k in kernel]
    letters = "HWD"[:space]

    def order(a, b):
        s = [a, b, *letters]
        return "".join(s[i] for i in d.permutation(len(s))) if d.chance(0.5) else "".join(s)

    specs = (order("N", "C"), order("O", "I"), order("N", "C"))

    def arrange(spec, names):
        return [names[c] for c in spec]

    dims = dict(zip(letters, size))
    x = d.array(
        arrange(specs[0], {"N": batch, "C": cin * groups, **dims}),
        dtype or d.choose("float32", "bfloat16", "float16", "complex64", "int8", "int32"),
    )
    kdims = dict(zip(letters, kernel))
    w = d.array(arrange(specs[1], {"O": cout, "I": cin, **kdims}), x.dtype.name)
    strides = [d.integer(1, 2) for _ in range(space)]
    padding = d.choose("SAME", "VALID", [(d.integer(0, 2), d.integer(0, 2)) for _ in range(space)])
    lhs, rhs = ([d.integer(1, 2) if d.chance(0.3) else 1 for _ in range(space)] for _ in range(2))
    if any((k - 1) * r + 1 > (n - 1) * l + 1 for k, r, n, l in zip(kernel, rhs, size, lhs)):
        rhs = [1] * space
    return lambda x, w: lax.conv_general_dilated(
        x,
        w,
        strides,
        padding,
        lhs,
        rhs,
        dimension_numbers=specs,
        feature_group_count=groups,
        batch_group_count=bgroups,
        precision=precision,
    ), [x, w]


@entry("lax", "conv_transpose and patches", 1e-4)
def _(d):
    x = d.array((d.integer(1, 2), d.integer(3, 8), d.integer(3, 8), d.integer(1, 3)), "float32")
    stride, padding = d.integer(1, 3), d.choose("SAME", "VALID")
    w = d.array((d.integer(1, 3), d.integer(1, 3), x.shape[3], d.integer(1, 4)), "float32")
    if d.chance(0.5):
        return lambda x, w: lax.conv_transpose(
            x, w, (stride, stride), padding, precision=lax.Precision.HIGHEST
        ), [x, w]
    return lambda x: lax.conv_general_dilated_patches(
        x,
        w.shape[:2],
        (stride, stride),
        padding,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        precision=lax.Precision.HIGHEST,
    ), [x]


@entry("lax", "gather")
def _(d):
    x = d.array(d.shape(1, 3, zero=0), d.choose(*ALL))
    indexed = tuple(sorted(int(i) for i in d.rng.permutation(x.ndim)[: d.integer(1, x.ndim)]))
    sizes = tuple(
        1 if i in indexed and d.chance(0.7) else d.integer(1, n) for i, n in enumerate(x.shape)
    )
    collapsed = tuple(i for i in range(x.ndim) if sizes[i] == 1 and i in indexed)
    batch = d.shape(0, 2)
    index = d.rng.randint(-2, 8, size=batch + (len(indexed),)).astype(d.choose("int32", "int8"))
    kept = x.ndim - len(collapsed)
    offset = tuple(range(len(batch), len(batch) + kept))
    dims = lax.GatherDimensionNumbers(offset, collapsed, indexed)
    mode = d.choose("clip", "fill", "promise_in_bounds")
    if mode == "promise_in_bounds":
        index = np.zeros_like(index)
    return lambda x, i: lax.gather(x, i, dims, sizes, mode=mode), [x, index]


@entry("lax", "scatter", 1e-5)
def _(d):
    dtype = d.choose("float32", *NUMBERS)
    x = d.array(d.shape(1, 3, zero=0), dtype)
    n = d.integer(0, 5)
    axis = d.integer(0, x.ndim - 1)
    index = d.rng.randint(-2, 8, size=(n, 1)).astype("int32")
    rest = x.shape[:axis] + x.shape[axis + 1 :]
    f = d.choose(
        lax.scatter_add,
        lax.scatter_mul,
        lax.scatter_min,
        lax.scatter_max,
        lax.scatter,
        lax.scatter_sub,
    )
    if f is lax.scatter:
        index = d.rng.permutation(x.shape[axis])[:n].reshape(-1, 1).astype("int32")
    if dtype == "complex64" and f in (lax.scatter_min, lax.scatter_max):
        f = lax.scatter_add
    updates = d.array((len(index),) + rest, dtype)
    dims = lax.ScatterDimensionNumbers(tuple(range(1, x.ndim)), (axis,), (axis,))
    mode = d.choose("clip", "drop")
    if f is lax.scatter:
        mode = "drop"
    return lambda x, i, u: f(x, i, u, dims, mode=mode), [x, index, updates]


@entry("lax", "scatter_apply")
def _(d):
    x = d.array((d.integer(2, 9), 3), "float32")
    index = d.rng.permutation(x.shape[0])[:2].reshape(-1, 1).astype("int32")
    dims = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    return lambda x, i: lax.scatter_apply(
        x, i, lambda v: jnp.sin(v) + 1, dims, update_shape=(2, 3)
    ), [x, index]


@entry("lax", "sort", grad=False)
def _(d):
    x = d.array(d.shape(1, 3), d.choose(*REALS, "bool"), d.choose("default", "edge", "full"))
    axis = d.integer(0, x.ndim - 1)
    n = d.integer(1, 3)
    others = [
        d.array(x.shape, d.choose("int32", "float32", "uint8", "bfloat16"), "full")
        for _ in range(n - 1)
    ]
    keys = d.integer(1, n)
    return lambda *x: lax.sort(x, dimension=axis, num_keys=keys, is_stable=True), [x, *others]


@entry("lax", "sort complex")
def _(d):
    x = d.array(d.shape(1, 3), "complex64")
    return lambda x: lax.sort(x, dimension=x.ndim - 1), [x]


@entry("lax", "top_k")
def _(d):
    x = d.array(
        d.shape(1, 3, zero=0),
        d.choose("float32", "int32", "bfloat16", "uint8", "int16"),
        d.choose("default", "edge"),
    )
    k = d.integer(1, x.shape[-1])
    return lambda x: lax.top_k(x, k), [x]


@entry("lax", "approx_top_k")
def _(d):
    x = d.rng.permutation(d.choose(64, 300, 1000)).astype("float32")[None].repeat(2, 0)
    f, k = d.choose(lax.approx_max_k, lax.approx_min_k), d.integer(1, 10)
    return lambda x: f(x, k, recall_target=1.0)[0], [x]


@entry("lax", "map and ragged_dot", 1e-4)
def _(d):
    if d.chance(0.5):
        x = d.array(d.shape(1, 3, zero=0), "float32")
        return lambda x: lax.map(lambda v: jnp.sin(v) * 2, x), [x]
    m, k, n, g = d.integer(2, 16), d.integer(1, 8), d.integer(1, 8), d.integer(1, 4)
    sizes = d.rng.multinomial(m, [1 / g] * g).astype("int32")
    return lambda x, y, s: lax.ragged_dot(x, y, s, precision="highest"), [
        d.array((m, k), "float32"),
        d.array((g, k, n), "float32"),
        sizes,
    ]


@entry("lax", "optimization_barrier, clamp, rng")
def _(d):
    x = d.array(None, "float32")
    key = d.array((4,), "uint32", "full")
    return lambda x, key: (
        lax.optimization_barrier(x),
        lax.clamp(jnp.float32(-1), x, jnp.float32(1)),
        lax.rng_bit_generator(key, x.shape, algorithm=lax.RandomAlgorithm.RNG_PHILOX)[1],
        lax.rng_bit_generator(key, (3, 5), jnp.uint32, algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)[
            1
        ],
    ), [x, key]

"""jax.numpy beyond elementwise functions: reductions, shapes, sets, indices, products."""

import jax
import jax.numpy as jnp
import numpy as np

from sweep.areas import entry
from sweep.draw import ALL, FLOATS, INTEGERS, NUMBERS, REALS


def _reduction(name, types, kind="default", tolerance=1e-5):
    @entry(
        "numpy", name, tolerance, grad=name in ("sum", "mean", "var", "std", "prod", "max", "min")
    )
    def _(d):
        x = d.array(
            d.shape(
                zero=(
                    0.1
                    if name in ("sum", "prod", "any", "all", "nansum", "nanprod", "count_nonzero")
                    else 0
                )
            ),
            d.choose("float32", *types),
            kind,
        )
        axis, keep = d.axes(x.shape), d.chance(0.3)
        f = getattr(jnp, name)
        if name in ("sum", "prod", "max", "min") and d.chance(0.2):
            mask = d.array(x.shape, "bool")
            return lambda x, m: f(x, axis=axis, keepdims=keep, where=m, initial=1), [x, mask]
        return lambda x: f(x, axis=axis, keepdims=keep), [x]


for _name in "sum mean var std max min any all count_nonzero ptp".split():
    _reduction(_name, REALS + ("bool",) if _name not in ("ptp",) else REALS)
_reduction("prod", ("float32", "int32"), "positive")
for _name in "nansum nanmean nanvar nanstd nanmax nanmin".split():
    _reduction(_name, ("float32", "bfloat16"), "edge")
_reduction("nanprod", ("float32",), "edge", 1e-4)


@entry("numpy", "argmax and argmin")
def _(d):
    f = d.choose(jnp.argmax, jnp.argmin, jnp.nanargmax, jnp.nanargmin)
    x = d.array(d.shape(0, 3, zero=0), d.choose(*REALS), d.choose("default", "edge"))
    axis = None if d.chance(0.4) or not x.ndim else d.axis(x.shape)
    return lambda x: f(x, axis=axis), [x]


@entry("numpy", "cumulative", 2e-5, grad=True)
def _(d):
    f = d.choose(jnp.cumsum, jnp.cumprod, jnp.nancumsum, jnp.nancumprod)
    x = d.array(d.shape(1, 3), "float32", "positive") / 2
    axis = None if d.chance(0.3) else d.axis(x.shape)
    return lambda x: f(x, axis=axis), [x]


@entry("numpy", "median, quantile, percentile", 1e-5)
def _(d):
    x = d.array(d.shape(1, 3, zero=0), "float32", d.choose("default", "edge"))
    axis, keep = None if d.chance(0.3) else d.axis(x.shape), d.chance(0.3)
    f = d.choose(jnp.quantile, jnp.nanquantile)
    method = d.choose("linear", "lower", "higher", "midpoint", "nearest")
    q = d.array(d.choose((), (3,)), "float32", "unit")
    if d.chance(0.3):
        g = d.choose(jnp.median, jnp.nanmedian)
        return lambda x: g(x, axis=axis, keepdims=keep), [x]
    return lambda x, q: f(x, q, axis=axis, method=method, keepdims=keep), [x, q]


@entry("numpy", "average, cov, corrcoef, histogram", 1e-4)
def _(d):
    x, w = d.array((d.integer(2, 5), d.integer(2, 20)), "float32"), d.array(
        (20,), "float32", "positive"
    )
    which = d.integer(0, 6)
    if which == 0:
        return lambda x, w: jnp.average(x, axis=1, weights=w[: x.shape[1]]), [x, w]
    if which == 1:
        return lambda x: jnp.cov(x), [x]
    if which == 2:
        return lambda x: jnp.corrcoef(x), [x]
    if which == 3:
        return lambda x: jnp.histogram(x, bins=7), [x]
    if which == 4:
        return lambda x: jnp.histogram(x, bins=5, range=(-2.0, 3.0), density=True), [x]
    if which == 5:
        return lambda x: jnp.histogram2d(x[0], x[1], bins=3), [x]
    return lambda x: jnp.digitize(x, jnp.linspace(-3, 3, 9)), [x]


@entry("numpy", "shapes")
def _(d):
    x = d.array(d.shape(1, 4), d.choose(*ALL))
    which = d.integer(0, 13)
    a, b = d.axis(x.shape), d.axis(x.shape)
    if which == 0:
        return lambda x: jnp.moveaxis(x, a, b), [x]
    if which == 1:
        return lambda x: jnp.swapaxes(x, a, b), [x]
    if which == 2:
        return lambda x: jnp.expand_dims(x, (0, -1)), [x]
    if which == 3:
        shift = d.integer(-5, 5)
        return lambda x: jnp.roll(x, shift, axis=a), [x]
    if which == 4:
        n = d.integer(0, 3)
        return lambda x: jnp.repeat(x, n, axis=a), [x]
    if which == 5:
        reps = tuple(d.integer(0, 3) for _ in range(d.integer(1, 3)))
        return lambda x: jnp.tile(x, reps), [x]
    if which == 6:
        axes = d.axes(x.shape)
        return lambda x: jnp.flip(x, axes), [x]
    if which == 7 and x.ndim > 1:
        k = d.integer(-3, 4)
        return lambda x: jnp.rot90(x, k), [x]
    if which == 8:
        n = d.integer(1, 4)
        return lambda x: jnp.array_split(x, n, axis=a), [x]
    if which == 9:
        return lambda x: (
            jnp.stack([x, x], axis=a),
            jnp.concatenate([x, x], axis=a),
            jnp.hstack([x, x]),
            jnp.vstack([x, x]),
            jnp.dstack([x, x]),
            jnp.column_stack([x, x]),
        ), [x]
    if which == 10:
        return lambda x: (
            jnp.ravel(x, order="F"),
            jnp.reshape(x, (-1,) if x.size else (0,)),
            x.T,
            jnp.atleast_3d(x),
        ), [x]
    if which == 11:
        shape = tuple(d.integer(1, 4) for _ in range(d.integer(1, 3)))
        return lambda x: jnp.resize(x, shape), [x]
    if which == 12:
        return lambda x: jnp.broadcast_to(x, (3,) + x.shape), [x]
    return lambda x: jnp.unstack(x, axis=a), [x]


@entry("numpy", "pad", 1e-5)
def _(d):
    x = d.array(d.shape(1, 3, zero=0), d.choose("float32", "int32", "bool", "bfloat16"))
    mode = d.choose(
        "constant",
        "edge",
        "wrap",
        "reflect",
        "symmetric",
        "maximum",
        "minimum",
        "mean",
        "linear_ramp",
    )
    if mode in ("mean", "linear_ramp", "maximum", "minimum") and x.dtype != np.float32:
        mode = "edge"
    width = [(d.integer(0, 3), d.integer(0, 3)) for _ in x.shape]
    return lambda x: jnp.pad(x, width, mode=mode), [x]


@entry("numpy", "triangles and diagonals")
def _(d):
    x = d.array(d.shape(2, 3), d.choose(*ALL))
    k, which = d.integer(-3, 3), d.integer(0, 7)
    if which == 0:
        return lambda x: (jnp.tril(x, k), jnp.triu(x, k)), [x]
    if which == 1:
        return lambda x: jnp.diagonal(x, k), [x]
    if which == 2:
        return lambda x: jnp.trace(x, k), [x]
    if which == 3:
        return lambda x: jnp.diag(x[..., 0].ravel()[:7], k), [d.array((4, 5), "float32")]
    if which == 4:
        return lambda x: (jnp.eye(4, 6, k, dtype=x.dtype), jnp.tri(5, 3, k), jnp.identity(3)), [x]
    if which == 5:
        return lambda x: jnp.fill_diagonal(x, 7, inplace=False), [d.array((4, 4), "float32")]
    if which == 6:
        return lambda x: jnp.vander(x, 4), [d.array((5,), "float32")]
    return lambda x: (
        jnp.tril_indices(4, k),
        jnp.diag_indices(3),
        jnp.indices((2, 3)),
        jnp.diagflat(x),
    ), [d.array((4,), "float32")]


@entry("numpy", "sort and argsort")
def _(d):
    x = d.array(d.shape(1, 3), d.choose(*REALS, "bool"), d.choose("default", "edge"))
    axis, down = d.choose(None, d.axis(x.shape)), d.chance(0.3)
    f = d.choose(jnp.sort, jnp.argsort)
    return lambda x: f(x, axis=axis, stable=True, descending=down), [x]


@entry("numpy", "lexsort, partition, searchsorted")
def _(d):
    x, which = d.array((d.integer(1, 40),), d.choose("float32", "int32", "uint8")), d.integer(0, 4)
    if which == 0:
        return lambda x, y: jnp.lexsort((x, y)), [x, d.array(x.shape, "int32")]
    if which == 1:
        k = d.integer(0, x.size - 1)
        return lambda x: (jnp.partition(x, k)[k], jnp.sort(jnp.partition(x, k)[:k])), [x]
    if which == 2:
        side, method = d.choose("left", "right"), d.choose(
            "scan", "scan_unrolled", "sort", "compare_all"
        )
        return lambda x, v: jnp.searchsorted(jnp.sort(x), v, side=side, method=method), [
            x,
            d.array((3, 4), x.dtype.name),
        ]
    if which == 3:
        return lambda x: jnp.bincount(abs(x.astype("int32")), length=9), [x]
    return lambda x: jnp.sort_complex(x), [d.array((7,), "complex64")]


@entry("numpy", "sets")
def _(d):
    x, y = d.array((d.integer(1, 30),), d.choose("int32", "float32", "uint8", "bool")), d.array(
        (d.integer(1, 20),), "int32"
    )
    which, n = d.integer(0, 6), d.integer(1, 12)
    if which == 0:
        return lambda x: jnp.unique(
            x, size=n, return_index=True, return_inverse=True, return_counts=True
        ), [x]
    if which == 1:
        return lambda x: jnp.unique(x.reshape(-1, 1) * jnp.ones((1, 3), x.dtype), axis=0, size=n), [
            x
        ]
    if which == 2:
        return lambda x, y: jnp.isin(x.astype("int32"), y), [x, y]
    if which == 3:
        return lambda x, y: jnp.intersect1d(x.astype("int32"), y, size=n), [x, y]
    if which == 4:
        return lambda x, y: jnp.union1d(x.astype("int32"), y, size=n), [x, y]
    if which == 5:
        return lambda x, y: jnp.setdiff1d(x.astype("int32"), y, size=n), [x, y]
    return lambda x: (
        jnp.nonzero(x, size=n, fill_value=-1),
        jnp.flatnonzero(x, size=n),
        jnp.argwhere(x, size=n),
    ), [x]


def _index(d, shape):
    """An index of any form, and arrays in it become arguments."""
    parts, left = [], len(shape)
    for axis, n in enumerate(shape):
        which = d.integer(0, 7)
        if which == 0:
            parts.append(d.integer(-n, n - 1))
        elif which == 1:
            parts.append(slice(None))
        elif which == 2:
            step = d.choose(1, 2, -1, -2)
            parts.append(
                slice(
                    d.choose(None, d.integer(-n - 1, n)), d.choose(None, d.integer(-n - 1, n)), step
                )
            )
        elif which == 3:
            parts.append(
                d.rng.randint(-n, n, size=(2, 1) if d.chance(0.3) else (3,)).astype("int32")
                if len(parts) == 0
                else slice(None)
            )
        elif which == 4:
            parts.extend([None, slice(None)])
        elif which == 5 and d.chance(0.5):
            parts.append(Ellipsis)
            break
        elif which == 6:
            parts.append(
                np.int32(d.integer(-n - 1, n))
                if d.chance(0.5)
                else d.rng.randint(-n, n, size=(3,)).astype("int32")
            )
        else:
            break
    return tuple(parts)


@entry("numpy indexing", "get", grad=True)
def _(d):
    x = d.array(d.shape(1, 4, zero=0), d.choose("float32", *ALL))
    for _ in range(20):
        index = _index(d, x.shape)
        try:
            jax.eval_shape(lambda x: x[index], x)
            break
        except Exception:
            index = (Ellipsis,)
    arrays = [i for i in index if isinstance(i, (np.ndarray, np.int32))]

    def f(x, *arrays):
        arrays = list(arrays)
        return x[
            tuple(arrays.pop(0) if isinstance(i, (np.ndarray, np.int32)) else i for i in index)
        ]

    return f, [x, *arrays]


@entry("numpy indexing", "set", 1e-5, grad=True)
def _(d):
    x = d.array(d.shape(1, 3, zero=0), d.choose("float32", *NUMBERS))
    op = d.choose("set", "add", "multiply", "min", "max", "subtract")
    if x.dtype == np.complex64 and op in ("min", "max"):
        op = "add"
    for _ in range(20):
        index = _index(d, x.shape)
        try:
            part = jax.eval_shape(lambda x: x[index], x)
            break
        except Exception:
            index = (Ellipsis,)
            part = x
    if op == "set":
        index = tuple(
            (
                np.unique(np.where(i < 0, i + x.shape[0], i))
                if isinstance(i, np.ndarray) and i.ndim == 1 and len(index) == 1
                else i
            )
            for i in index
        )
        if any(isinstance(i, np.ndarray) for i in index):
            update = d.array((), x.dtype.name)
        else:
            update = d.array(part.shape, x.dtype.name)
    else:
        update = d.array(d.choose((), part.shape), x.dtype.name)
    mode = d.choose(None, None, "clip", "drop")
    if mode == "clip" and op == "set":
        mode = None
    return lambda x, u: getattr(x.at[index], op)(u, mode=mode), [x, update]


@entry("numpy indexing", "apply, power and masks", 1e-5)
def _(d):
    x = d.array(d.shape(1, 3, zero=0), "float32")
    which = d.integer(0, 4)
    if which == 0:
        return lambda x: x.at[0].apply(jnp.sin), [x]
    if which == 1:
        return lambda x: x.at[::2].power(2), [x]
    if which == 2:
        return lambda x: jnp.where(x > 0, x, 0).at[x < 0].set(5), [x]
    if which == 3:
        return lambda x: x.at[jnp.array([0, 100, -1])].get(mode="fill", fill_value=3), [x]
    return lambda x: x.at[0].divide(3.0), [x]


@entry("numpy indexing", "take and friends", 1e-5, grad=True)
def _(d):
    x = d.array(d.shape(1, 3, zero=0), "float32")
    axis = d.axis(x.shape)
    n = x.shape[axis]
    which = d.integer(0, 6)
    index = np.asarray(d.rng.randint(-n, n, size=d.shape(0, 2)), "int32")
    if which == 0:
        mode = d.choose(None, "clip", "wrap", "fill")
        return lambda x, i: jnp.take(x, i, axis=axis, mode=mode), [x, index]
    if which == 1:
        shape = tuple(5 if a == axis % x.ndim else s for a, s in enumerate(x.shape))
        return lambda x, i: jnp.take_along_axis(x, i, axis=axis), [
            x,
            d.rng.randint(-n, n, size=shape).astype("int32"),
        ]
    if which == 2:
        return lambda x, i: jnp.put_along_axis(x, i, 7.0, axis=axis, inplace=False), [
            x,
            d.rng.randint(
                0, n, size=tuple(1 if a == axis % x.ndim else s for a, s in enumerate(x.shape))
            ).astype("int32"),
        ]
    if which == 3:
        return lambda x: jnp.delete(x, 0, axis=axis), [x]
    if which == 4:
        return lambda x: jnp.insert(x, 0, 9, axis=axis), [x]
    if which == 5:
        return lambda x: jnp.compress(np.arange(n) % 2 == 0, x, axis=axis), [x]
    return lambda x: jnp.choose(
        jnp.array([0, 1, 1]), [x.ravel()[:1].repeat(3), jnp.arange(3.0)], mode="clip"
    ), [x]


@entry("numpy products", "einsum", 3e-5, grad=True)
def _(d):
    letters = {c: d.integer(1, 6) for c in "abcdef"}
    a = [d.choose(*"abcdef") for _ in range(d.integer(0, 4))]
    b = [d.choose(*"abcdef") for _ in range(d.integer(0, 4))]
    if d.chance(0.7):
        a, b = list(dict.fromkeys(a)), list(dict.fromkeys(b))
    out = [c for c in dict.fromkeys(a + b) if d.chance(0.6)]
    dtype = d.choose("float32", "float32", "complex64", "int32")
    spec = "".join(a) + "," + "".join(b) + "->" + "".join(out)
    return lambda x, y: jnp.einsum(spec, x, y, precision="highest"), [
        d.array([letters[c] for c in a], dtype),
        d.array([letters[c] for c in b], dtype),
    ]


@entry("numpy products", "matmul, dot and others", 3e-5, grad=True)
def _(d):
    f = d.choose(
        jnp.matmul, jnp.dot, jnp.inner, jnp.outer, jnp.kron, jnp.vdot, jnp.vecdot, jnp.tensordot
    )
    dtype = d.choose("float32", "float32", "complex64", "int32")
    n, m, k, b = (
        d.integer(1, 6),
        d.integer(1, 6),
        d.integer(0 if d.chance(0.1) else 1, 6),
        d.shape(0, 2, zero=0),
    )
    shapes = {
        jnp.matmul: (b + (n, k), d.broadcast(b) + (k, m)),
        jnp.dot: ((n, k), (b or (2,)) + (k, m)),
        jnp.inner: ((n, k), (m, k)),
        jnp.outer: ((n,), (m,)),
        jnp.kron: ((n, m), (m, n)),
        jnp.vdot: ((n, k), (n, k)),
        jnp.vecdot: (b + (k,), (k,)),
        jnp.tensordot: ((n, 2, 3), (2, 3, m)),
    }[f]
    options = {} if f is jnp.outer else {"precision": "highest"}
    return lambda x, y: f(x, y, **options), [d.array(s, dtype) for s in shapes]


@entry("numpy products", "cross, convolve, correlate", 1e-4)
def _(d):
    which = d.integer(0, 3)
    x, y = d.array((d.integer(1, 12),), "float32"), d.array((d.integer(1, 12),), "float32")
    mode = d.choose("full", "same", "valid")
    if which == 0:
        return lambda x, y: jnp.convolve(x, y, mode=mode, precision="highest"), [x, y]
    if which == 1:
        return lambda x, y: jnp.correlate(x, y, mode=mode, precision="highest"), [x, y]
    if which == 2:
        return jnp.cross, [d.array((4, 3), "float32"), d.array((4, 3), "float32")]
    return lambda x, y: jnp.linalg.multi_dot([x, y, x], precision="highest"), [
        d.array((3, 4), "float32"),
        d.array((4, 3), "float32"),
    ]


@entry("numpy", "polynomials", 1e-3)
def _(d):
    a, b = d.array((d.integer(2, 6),), "float32", "positive"), d.array(
        (d.integer(2, 4),), "float32", "positive"
    )
    f = d.choose(
        jnp.polyadd,
        jnp.polysub,
        jnp.polymul,
        jnp.polyval,
        lambda a, b: jnp.polyder(a),
        lambda a, b: jnp.polyint(a),
        lambda a, b: jnp.poly(a),
        lambda a, b: jnp.polydiv(a[:4], b[:2]),
    )
    return f, [a, b]


@entry("numpy", "ranges and windows", 1e-5)
def _(d):
    n = d.integer(1, 12)
    return d.choose(
        lambda x: jnp.linspace(x, x + 3, n),
        lambda x: jnp.logspace(0, 1, n) * x,
        lambda x: jnp.geomspace(1, 9, n) * x,
        lambda x: jnp.arange(n) * x,
        lambda x: (
            jnp.hanning(n),
            jnp.hamming(n),
            jnp.blackman(n),
            jnp.bartlett(n),
            jnp.kaiser(n, 3.0),
        ),
        lambda x: jnp.meshgrid(jnp.arange(n), jnp.ones(3) * x),
        lambda x: jnp.ix_(jnp.arange(3), jnp.arange(n)),
    ), [d.array((), "float32")]


@entry("numpy", "gradients of lines", 1e-5)
def _(d):
    x = d.array((d.integer(4, 9), d.integer(4, 9)), "float32")
    return d.choose(
        lambda x: jnp.diff(x, n=2, axis=0),
        lambda x: jnp.ediff1d(x),
        lambda x: jnp.gradient(x),
        lambda x: jnp.trapezoid(x),
        lambda x: jnp.interp(x, jnp.arange(9.0), jnp.arange(9.0) ** 2),
        lambda x: jnp.unwrap(x),
        lambda x: jnp.apply_along_axis(jnp.cumsum, 0, x),
        lambda x: jnp.piecewise(x, [x < 0, x > 1], [jnp.sin, 2.0, lambda v: v * v]),
        lambda x: jnp.select([x < 0, x > 1], [x, x * 2], 5.0),
        lambda x: jnp.vectorize(
            lambda a, b: jnp.dot(a, b, precision="highest"), signature="(n),(n)->()"
        )(x, x),
    ), [x]


@entry("numpy", "bits")
def _(d):
    x, axis = d.array(d.shape(1, 3), "uint8", "full"), -1
    order = d.choose("big", "little")
    if d.chance(0.5):
        return lambda x: jnp.packbits(x > 100, axis=axis, bitorder=order), [x]
    return lambda x: jnp.unpackbits(x, axis=axis, bitorder=order), [x]


@entry("numpy", "ravel_multi_index", None)
def _(d):
    shape = (3, 4, 5)
    i = d.rng.randint(0, 60, size=(7,)).astype("int32")
    mode = d.choose("clip", "wrap")
    return lambda i: (
        jnp.unravel_index(i, shape),
        jnp.ravel_multi_index((i % 4, i, i), shape, mode=mode),
    ), [i]


@entry("numpy", "ufunc methods", 1e-5)
def _(d):
    x = d.array((4, 5), "float32")
    f = d.choose(jnp.add, jnp.multiply, jnp.maximum)
    return d.choose(
        lambda x: f.reduce(x, axis=0),
        lambda x: f.accumulate(x, axis=1),
        lambda x: f.outer(x[0], x[1]),
        lambda x: f.at(x, (0,), 3.0, inplace=False),
        lambda x: f.reduceat(x, jnp.array([0, 2]), axis=0),
    ), [x]


@entry("fft", "fft", 3e-4, grad=True)
def _(d):
    name = d.choose(
        "fft",
        "ifft",
        "rfft",
        "irfft",
        "hfft",
        "ihfft",
        "fft2",
        "ifft2",
        "rfft2",
        "irfft2",
        "fftn",
        "ifftn",
        "rfftn",
        "irfftn",
    )
    shape = d.shape(2, 3, most=13, zero=0)
    if name in ("irfft", "hfft", "irfft2", "irfftn"):
        shape = shape[:-1] + (max(shape[-1], 2),)
    x = d.array(
        shape, "float32" if name in ("rfft", "rfft2", "rfftn", "ihfft") else "complex64", "unit"
    )
    norm = d.choose(None, "ortho", "forward")
    n = d.integer(2, 12) if d.chance(0.3) and not name.endswith(("2", "n")) else None
    f = getattr(jnp.fft, name)
    if n is not None:
        return lambda x: f(x, n=n, norm=norm), [x]
    return lambda x: f(x, norm=norm), [x]


@entry("fft", "helpers", 1e-6)
def _(d):
    n = d.integer(1, 12)
    return lambda x: (
        jnp.fft.fftshift(x),
        jnp.fft.ifftshift(x),
        jnp.fft.fftfreq(n),
        jnp.fft.rfftfreq(n),
    ), [d.array(d.shape(1, 3), "float32")]


@entry("image", "resize", 1e-4)
def _(d):
    x = d.array((d.integer(1, 2), d.integer(2, 9), d.integer(2, 9), d.integer(1, 3)), "float32")
    shape = (x.shape[0], d.integer(1, 14), d.integer(1, 14), x.shape[3])
    method, anti = d.choose("nearest", "linear", "cubic", "lanczos3", "lanczos5"), d.chance(0.5)
    if d.chance(0.2):
        return lambda x: jax.image.scale_and_translate(
            x,
            shape,
            (1, 2),
            jnp.array([1.5, 0.7]),
            jnp.array([0.3, -1.0]),
            method if method != "nearest" else "linear",
            antialias=anti,
            precision=jax.lax.Precision.HIGHEST,
        ), [x]
    return lambda x: jax.image.resize(
        x, shape, method, antialias=anti, precision=jax.lax.Precision.HIGHEST
    ), [x]


@entry("image", "segments", 1e-5, grad=True)
def _(d):
    x = d.array((d.integer(1, 20),) + d.shape(0, 1), "float32")
    ids = d.rng.randint(-1, 6, size=x.shape[0]).astype("int32")
    f = d.choose(
        jax.ops.segment_sum, jax.ops.segment_max, jax.ops.segment_min, jax.ops.segment_prod
    )
    return lambda x, i: f(x, i, num_segments=5), [x, ids]


@entry("image", "map_coordinates", 1e-4)
def _(d):
    x, at = d.array((5, 6), "float32"), d.array((2, 7), "float32")
    order, mode = d.integer(0, 1), d.choose("constant", "nearest", "wrap", "mirror", "reflect")
    return lambda x, at: jax.scipy.ndimage.map_coordinates(x, [at[0], at[1]], order, mode), [x, at]

"""Elementwise functions of jax.lax, jax.numpy, jax.nn and jax.scipy.special."""

import jax
import jax.numpy as jnp
import jax.scipy.special as special
from jax import lax, nn

from sweep.areas import entry
from sweep.draw import ALL, COMPLEX, FLOATS, INTEGERS, NUMBERS, REALS, SIGNED, UNSIGNED

INEXACT = FLOATS + COMPLEX

# Area, names, how many operands, types, kind of values, tolerance for f32 and complex types.
TABLE = [
    ("lax", "neg", 1, SIGNED + INEXACT, "default", None),
    ("lax", "sign", 1, NUMBERS, "default", None),
    ("lax", "floor ceil round is_finite", 1, FLOATS, "edge", None),
    (
        "lax",
        "exp exp2 expm1 tanh sin cos tan sinh cosh logistic square",
        1,
        INEXACT,
        "default",
        3e-5,
    ),
    ("lax", "exp expm1 tanh asin acos atan atanh asinh sin cos", 1, INEXACT, "small", None),
    ("lax", "log log1p sqrt rsqrt reciprocal acosh cbrt", 1, FLOATS, "positive", None),
    ("lax", "log log1p sqrt rsqrt reciprocal asinh acosh", 1, COMPLEX, "default", 1e-4),
    (
        "lax",
        "exp log log1p expm1 sqrt rsqrt tanh logistic sin cos atan cbrt abs",
        1,
        FLOATS,
        "edge",
        1e-5,
    ),
    ("lax", "lgamma digamma", 1, FLOATS, "positive", 1e-5),
    ("lax", "erf erfc erf_inv", 1, FLOATS, "small", None),
    ("lax", "erf erfc bessel_i0e bessel_i1e", 1, FLOATS, "default", 1e-5),
    ("lax", "real imag conj", 1, COMPLEX, "default", None),
    ("lax", "abs", 1, NUMBERS, "default", None),
    ("lax", "bitwise_not", 1, INTEGERS + ("bool",), "full", None),
    ("lax", "population_count clz", 1, INTEGERS, "full", None),
    ("lax", "add sub mul", 2, NUMBERS, "default", None),
    ("lax", "add sub mul", 2, INTEGERS, "full", None),
    ("lax", "add sub mul div max min", 2, FLOATS, "edge", None),
    ("lax", "max min", 2, ALL, "default", None),
    ("lax", "div rem", 2, NUMBERS[:-1], "nonzero", None),
    ("lax", "div", 2, COMPLEX, "nonzero", 1e-5),
    ("lax", "div rem", 2, INTEGERS, "full", None),
    ("lax", "mulhi", 2, INTEGERS, "full", None),
    ("lax", "pow", 2, FLOATS, "positive", 1e-5),
    ("lax", "pow atan2 nextafter", 2, FLOATS, "edge", 1e-5),
    ("lax", "bitwise_and bitwise_or bitwise_xor", 2, INTEGERS + ("bool",), "full", None),
    ("lax", "shift_left shift_right_arithmetic shift_right_logical", 2, INTEGERS, "positive", None),
    ("lax", "shift_left shift_right_arithmetic shift_right_logical", 2, INTEGERS, "full", None),
    ("lax", "eq ne", 2, ALL, "default", None),
    ("lax", "ge gt le lt", 2, REALS + ("bool",), "default", None),
    ("lax", "eq ne ge gt le lt", 2, FLOATS, "edge", None),
    ("lax", "igamma igammac", 2, ("float32",), "positive", 1e-5),
    ("lax", "igamma_grad_a random_gamma_grad", 2, ("float32",), "positive", 1e-3),
    ("lax", "zeta", 2, ("float32",), "positive", 1e-4),
    ("lax", "complex", 2, ("float32",), "edge", None),
    ("lax", "betainc", 3, ("float32",), "unit", 2e-5),
    ("lax", "clamp", 3, REALS, "default", None),
    (
        "numpy",
        "abs absolute negative positive sign square conj real imag isfinite isnan isinf",
        1,
        NUMBERS,
        "default",
        None,
    ),
    (
        "numpy",
        "ceil floor trunc rint fabs isneginf isposinf signbit nan_to_num spacing",
        1,
        FLOATS,
        "edge",
        None,
    ),
    ("numpy", "arccos arcsin arctanh cbrt i0 sinc", 1, FLOATS, "unit", 2e-5),
    (
        "numpy",
        "exp exp2 expm1 sin cos tan tanh sinh cosh arctan arcsinh angle",
        1,
        FLOATS + COMPLEX + ("int32", "uint8", "bool"),
        "default",
        3e-5,
    ),
    (
        "numpy",
        "log log2 log10 log1p sqrt reciprocal arccosh",
        1,
        FLOATS + ("int32",),
        "positive",
        2e-6,
    ),
    ("numpy", "deg2rad rad2deg degrees radians", 1, FLOATS, "default", None),
    ("numpy", "invert logical_not bitwise_count", 1, INTEGERS, "full", None),
    (
        "numpy",
        "add subtract multiply maximum minimum equal not_equal greater less greater_equal "
        "less_equal logical_and logical_or logical_xor",
        2,
        ALL,
        "default",
        None,
    ),
    (
        "numpy",
        "fmax fmin copysign hypot logaddexp logaddexp2 heaviside nextafter arctan2 isclose",
        2,
        ("float32",),
        "edge",
        1e-5,
    ),
    ("numpy", "true_divide floor_divide mod remainder fmod divmod", 2, REALS, "nonzero", None),
    ("numpy", "true_divide floor_divide mod remainder fmod divmod", 2, ("float32",), "edge", None),
    ("numpy", "power float_power", 2, ("float32", "int32", "uint8"), "positive", 1e-5),
    ("numpy", "gcd lcm", 2, INTEGERS, "default", None),
    (
        "numpy",
        "left_shift right_shift bitwise_and bitwise_or bitwise_xor",
        2,
        INTEGERS,
        "positive",
        None,
    ),
    ("numpy", "modf frexp", 1, ("float32",), "default", None),
    (
        "nn",
        "relu relu6 celu elu selu gelu silu mish hard_tanh hard_sigmoid hard_silu leaky_relu "
        "soft_sign softplus squareplus sigmoid log_sigmoid sparse_plus sparse_sigmoid",
        1,
        FLOATS,
        "default",
        1e-5,
    ),
    (
        "scipy",
        "erf erfc expit log_ndtr ndtr entr i0 i0e i1 i1e gammaln digamma spence",
        1,
        ("float32",),
        "positive",
        3e-5,
    ),
    ("scipy", "erfinv ndtri logit", 1, ("float32",), "unit", 3e-4),
    (
        "scipy",
        "expi exp1 gamma factorial dawsn erfcx fresnel sici",
        1,
        ("float32",),
        "positive",
        1e-3,
    ),
    (
        "scipy",
        "xlogy xlog1py rel_entr kl_div betaln beta gammainc gammaincc zeta poch",
        2,
        ("float32",),
        "positive",
        1e-3,
    ),
    ("scipy", "betainc", 3, ("float32",), "unit", 1e-4),
]

MODULES = {"lax": lax, "numpy": jnp, "nn": nn, "scipy": special}
GRADS = {
    "exp",
    "tanh",
    "sin",
    "cos",
    "logistic",
    "log",
    "sqrt",
    "log1p",
    "add",
    "mul",
    "div",
    "pow",
    "erf",
    "gelu",
    "silu",
    "softplus",
    "max",
    "lgamma",
    "atan2",
    "hypot",
    "cbrt",
    "square",
    "rsqrt",
    "sigmoid",
}


def _make(function, count, types, kind):
    def make(d):
        dtype = d.choose(*types)
        shape = d.shape()
        args = [d.array(shape, dtype, kind) for _ in range(count)]
        return function, args

    return make


def _broadcasting(function, count, types, kind):
    def make(d):
        shape = d.shape()
        args = [d.array(d.broadcast(shape), d.choose(*types), kind) for _ in range(count)]
        return function, args

    return make


for _area, _names, _count, _types, _kind, _tolerance in TABLE:
    for _name in _names.split():
        _function = getattr(MODULES[_area], _name)
        _drawn = _make if _area == "lax" or _count == 1 else _broadcasting
        entry(_area, _name, _tolerance, grad=_name in GRADS and _kind != "edge")(
            _drawn(_function, _count, _types, _kind)
        )


@entry("lax", "convert_element_type")
def _(d):
    source, target = d.choose(*ALL, "int4", "uint4"), d.choose(
        *ALL, "int4", "uint4", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"
    )
    x = d.array(None, source, d.choose("default", "full"))
    target = getattr(jnp, target + "_" if target == "bool" else target)
    return lambda x: lax.convert_element_type(x, target), [x]


@entry("lax", "bitcast_convert_type")
def _(d):
    of = {
        1: ("int8", "uint8", "float8_e5m2"),
        2: ("int16", "uint16", "float16", "bfloat16"),
        4: ("int32", "uint32", "float32"),
    }
    size = d.choose(1, 2, 4)
    source = d.choose(*of[size])
    target = d.choose(*of[d.choose(size, 1, 2, 4)])
    shape = d.shape(1, 3)
    if jnp.dtype(target).itemsize > size:
        shape += (jnp.dtype(target).itemsize // size,)
    x = d.array(shape, "uint8" if size == 1 else "uint16" if size == 2 else "uint32", "full").view(
        jnp.dtype(source)
    )
    return lambda x: lax.bitcast_convert_type(
        lax.bitcast_convert_type(x, jnp.dtype(target)), f"uint{8 * jnp.dtype(target).itemsize}"
    ), [x]


@entry("lax", "integer_pow", 2e-6)
def _(d):
    n = d.integer(-3, 6)
    x = d.array(None, d.choose(*INEXACT) if n < 0 else d.choose(*NUMBERS), "positive")
    return lambda x: lax.integer_pow(x, n), [x]


@entry("lax", "reduce_precision")
def _(d):
    exponent, mantissa = d.integer(2, 8), d.integer(1, 23)
    x = d.array(None, d.choose(*FLOATS), d.choose("default", "edge"))
    return lambda x: lax.reduce_precision(x, exponent, mantissa), [x]


@entry("lax", "polygamma", 1e-3)
def _(d):
    shape = d.shape()
    n = d.rng.randint(0, 4, size=shape).astype("float32")
    return lax.polygamma, [n, d.array(shape, "float32", "positive")]


@entry("lax", "select")
def _(d):
    shape, dtype = d.shape(), d.choose(*ALL)
    which = d.array(shape if d.chance(0.7) else (), "bool")
    return lax.select, [which, d.array(shape, dtype), d.array(shape, dtype)]


@entry("lax", "select_n")
def _(d):
    shape, dtype, n = d.shape(), d.choose(*ALL), d.integer(2, 5)
    which = d.rng.randint(0, n, size=shape if d.chance(0.7) else ()).astype("int32")
    return lax.select_n, [which.reshape(which.shape), *(d.array(shape, dtype) for _ in range(n))]


@entry("numpy", "where")
def _(d):
    shape = d.shape()
    return jnp.where, [
        d.array(d.broadcast(shape), "bool"),
        d.array(d.broadcast(shape)),
        d.array(d.broadcast(shape)),
    ]


@entry("numpy", "clip")
def _(d):
    shape, dtype = d.shape(), d.choose(*REALS)
    return jnp.clip, [d.array(shape, dtype), d.array((), dtype), d.array(d.broadcast(shape), dtype)]


@entry("numpy", "ldexp")
def _(d):
    shape = d.shape()
    return jnp.ldexp, [d.array(shape, d.choose(*FLOATS)), d.array(d.broadcast(shape), "int32")]


@entry("numpy", "round")
def _(d):
    decimals = d.integer(-2, 3)
    return lambda x: jnp.round(x, decimals), [
        d.array(None, d.choose("float32", "int32", "float16"))
    ]


@entry("numpy", "mixed types")
def _(d):
    op = d.choose(jnp.add, jnp.multiply, jnp.subtract, jnp.maximum, jnp.equal, jnp.less)
    shape = d.shape()
    a, b = d.choose(*ALL), d.choose(*ALL)
    if op in (jnp.subtract,) and "bool" in (a, b):
        a = b = "int32"
    return op, [d.array(d.broadcast(shape), a), d.array(d.broadcast(shape), b)]


@entry("nn", "softmax family", 2e-6, grad=True)
def _(d):
    f = d.choose(
        nn.softmax, nn.log_softmax, nn.logsumexp, nn.standardize, special.logsumexp, nn.logmeanexp
    )
    shape = d.shape(1, 4, zero=0)
    axis = d.axis(shape)
    return lambda x: f(x, axis=axis), [d.array(shape, "float32")]


@entry("nn", "one_hot")
def _(d):
    n, axis = d.integer(1, 10), d.choose(-1, 0)
    return lambda x: nn.one_hot(x, n, axis=axis), [d.array(None, "int32")]


@entry("nn", "glu", 2e-6, grad=True)
def _(d):
    return nn.glu, [d.array(d.shape(0, 3) + (2 * d.integer(1, 70),), "float32")]


@entry("nn", "dot_product_attention", 2e-2)
def _(d):
    b, t, s, g, r, h = (
        d.integer(1, 3),
        d.integer(1, 17),
        d.integer(1, 17),
        d.integer(1, 2),
        d.integer(1, 2),
        d.choose(4, 16, 64),
    )
    causal = d.chance(0.5)
    dtype = d.choose("float32", "bfloat16")
    q, k, v = (
        d.array((b, t, g * r, h), dtype),
        d.array((b, s, g, h), dtype),
        d.array((b, s, g, h), dtype),
    )
    return lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=causal), [q / 3, k / 3, v]


@entry("scipy", "multigammaln and others", 1e-3)
def _(d):
    which = d.integer(0, 5)
    x = d.array(None, "float32", "positive")
    if which == 0:
        return lambda x: special.multigammaln(x + 3, 3), [x]
    if which == 1:
        return lambda x: special.polygamma(2, x), [x]
    if which == 2:
        return lambda x: special.bessel_jn(x, v=3, n_iter=30), [
            d.array((5,), "float32", "positive")
        ]
    if which == 3:
        return lambda x: special.expn(2, x), [x]
    if which == 4:
        return lambda x: special.bernoulli(6), [x]
    return lambda x: special.hyp1f1(1.5, 2.5, x), [x]

"""jax.random: bits must be equal, what is computed from them near."""

import jax
import jax.numpy as jnp

from sweep.areas import entry

random = jax.random


def _key(d):
    return d.array((2,), "uint32", "full")


def _sampler(name, sample, tolerance=1e-5, types=("float32",)):
    @entry("random", name, tolerance)
    def _(d):
        shape, dtype = d.shape(0, 3), d.choose(*types)
        impl = (
            d.choose("threefry2x32", "threefry2x32", "rbg", "unsafe_rbg")
            if name == "bits of rbg"
            else "threefry2x32"
        )
        return lambda k: sample(random.wrap_key_data(k, impl=impl), shape, jnp.dtype(dtype)), [
            _key(d)
        ]


_FLOATS = ("float32", "float32", "bfloat16", "float16")
_sampler("bits", random.bits, None, ("uint8", "uint16", "uint32"))
_sampler("uniform", random.uniform, None, _FLOATS)
_sampler(
    "randint",
    lambda k, s, t: random.randint(k, s, -7, 100, t),
    None,
    ("int32", "int8", "uint8", "int16", "uint32"),
)
_sampler("normal", random.normal, 1e-5, _FLOATS)
_sampler("complex normal", lambda k, s, t: random.normal(k, s, jnp.complex64))
_sampler("bernoulli", lambda k, s, t: random.bernoulli(k, 0.3, s))
_sampler("truncated_normal", lambda k, s, t: random.truncated_normal(k, -1.0, 2.0, s, t), 1e-5)
_sampler("exponential", random.exponential)
_sampler("gumbel", random.gumbel)
_sampler("laplace", random.laplace)
_sampler("logistic", random.logistic)
_sampler("cauchy", random.cauchy, 1e-3)
_sampler("rademacher", lambda k, s, t: random.rademacher(k, s, jnp.int32))
_sampler("maxwell", random.maxwell, 1e-4)
_sampler("gamma", lambda k, s, t: random.gamma(k, 1.7, s, t), 1e-4)
_sampler("loggamma", lambda k, s, t: random.loggamma(k, 0.7, s, t), 1e-4)
_sampler("beta", lambda k, s, t: random.beta(k, 1.7, 0.8, s, t), 1e-4)
_sampler("dirichlet", lambda k, s, t: random.dirichlet(k, jnp.ones(3), s, t), 1e-4)
_sampler("poisson", lambda k, s, t: random.poisson(k, 4.0, s))
_sampler("poisson large", lambda k, s, t: random.poisson(k, 40.0, s))
_sampler("binomial", lambda k, s, t: random.binomial(k, 9.0, 0.3, s), 1e-4)
_sampler("geometric", lambda k, s, t: random.geometric(k, 0.3, s))
_sampler("t", lambda k, s, t: random.t(k, 3.0, s), 1e-4)
_sampler("chisquare", lambda k, s, t: random.chisquare(k, 3.0, s), 1e-4)
_sampler("f", lambda k, s, t: random.f(k, 3.0, 5.0, s), 1e-3)
_sampler("pareto", lambda k, s, t: random.pareto(k, 2.0, s), 1e-4)
_sampler("rayleigh", lambda k, s, t: random.rayleigh(k, 2.0, s), 1e-4)
_sampler("wald", lambda k, s, t: random.wald(k, 2.0, s), 1e-3)
_sampler("weibull", lambda k, s, t: random.weibull_min(k, 2.0, 1.5, s), 1e-4)
_sampler("triangular", lambda k, s, t: random.triangular(k, 0.0, 0.3, 1.0, s), 1e-4)
_sampler("lognormal", lambda k, s, t: random.lognormal(k, 0.5, s), 1e-4)
_sampler("generalized_normal", lambda k, s, t: random.generalized_normal(k, 1.5, s), 1e-3)
_sampler("ball", lambda k, s, t: random.ball(k, 3, 2, s), 1e-3)
_sampler("orthogonal", lambda k, s, t: random.orthogonal(k, 4, s[:1]), 1e-3)
_sampler(
    "multivariate_normal",
    lambda k, s, t: random.multivariate_normal(k, jnp.zeros(3), jnp.eye(3), s),
    1e-2,
)
_sampler("double_sided_maxwell", lambda k, s, t: random.double_sided_maxwell(k, 0.5, 2.0, s), 1e-3)


@entry("random", "keys")
def _(d):
    n, data = d.integer(1, 5), d.integer(0, 1000)
    which = d.integer(0, 4)
    seed = d.array((), "int32", "full")
    if which == 0:
        return lambda k: random.key_data(random.split(random.wrap_key_data(k), n)), [_key(d)]
    if which == 1:
        return lambda k: random.key_data(random.fold_in(random.wrap_key_data(k), data)), [_key(d)]
    if which == 2:
        return lambda s: random.key_data(random.key(s)), [seed]
    if which == 3:
        return lambda s: jax.vmap(lambda k: random.uniform(k, (3,)))(
            random.split(random.key(s), 4)
        ), [seed]
    return lambda s: random.PRNGKey(s), [seed]


@entry("random", "permutation and choice")
def _(d):
    n, which = d.integer(1, 40), d.integer(0, 5)
    x = d.array((n, 3), "float32")
    if which == 0:
        return lambda k: random.permutation(random.wrap_key_data(k), n), [_key(d)]
    if which == 1:
        return lambda k, x: random.permutation(
            random.wrap_key_data(k), x, axis=1, independent=True
        ), [_key(d), x]
    if which == 2:
        return lambda k: random.choice(random.wrap_key_data(k), n, (5,)), [_key(d)]
    if which == 3:
        return lambda k: random.choice(random.wrap_key_data(k), n, (min(n, 4),), replace=False), [
            _key(d)
        ]
    if which == 4:
        return lambda k: random.choice(
            random.wrap_key_data(k), 4, (5,), p=jnp.array([0.1, 0.2, 0.3, 0.4])
        ), [_key(d)]
    return lambda k, x: random.categorical(random.wrap_key_data(k), x, axis=-1), [_key(d), x]


@entry("nn", "initializers", 1e-4)
def _(d):
    from jax.nn import initializers as init

    f = d.choose(
        init.glorot_normal(),
        init.he_uniform(),
        init.lecun_normal(),
        init.normal(),
        init.uniform(),
        init.truncated_normal(),
        init.orthogonal(),
        init.variance_scaling(2.0, "fan_avg", "uniform"),
    )
    shape = (d.integer(2, 9), d.integer(2, 9))
    return lambda k: f(random.wrap_key_data(k), shape), [_key(d)]

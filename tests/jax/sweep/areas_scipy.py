"""jax.numpy.linalg and jax.scipy: linalg, stats, signal."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax.scipy import stats

from sweep.areas import entry

linalg = jnp.linalg


def _matrix(d, m=None, n=None, dtype="float32", batch=None):
    n = n or d.integer(1, 7)
    batch = d.shape(0, 1, zero=0) if batch is None else batch
    return d.array(batch + (m or n, n), dtype)


def _spd(d, batch=None):
    x = _matrix(d, batch=batch)
    return (x @ np.swapaxes(x, -1, -2) / x.shape[-1] + 3 * np.eye(x.shape[-1])).astype("float32")


def _linalg(name, function, make, tolerance=2e-3, grad=False):
    @entry("linalg", name, tolerance, grad=grad)
    def _(d):
        return function, make(d)


def _well(d, dtype="float32", batch=None):
    """A matrix that is far from singular."""
    x = _matrix(d, dtype=dtype, batch=batch)
    return (x + 12 * np.eye(x.shape[-1])).astype(dtype)


def _many(d):
    m, n = d.integer(1, 7), d.integer(1, 7)
    return [_matrix(d, m, n)]


_linalg("det", linalg.det, lambda d: [_well(d)], grad=True)
_linalg("slogdet", linalg.slogdet, lambda d: [_well(d)])
_linalg("inv", linalg.inv, lambda d: [_well(d, d.choose("float32", "complex64"))])
_linalg(
    "solve",
    lambda a, b: linalg.solve(a, b[..., : a.shape[-1], :]),
    lambda d: [_well(d), d.array((7, 3), "float32")],
    grad=False,
)
_linalg("cholesky", linalg.cholesky, lambda d: [_spd(d)], grad=True)
_linalg(
    "eigh",
    lambda x: (
        linalg.eigh(x)[0],
        jnp.einsum(
            "...ij,...j,...kj->...ik",
            linalg.eigh(x)[1],
            linalg.eigh(x)[0],
            linalg.eigh(x)[1],
            precision="highest",
        ),
    ),
    lambda d: [_spd(d)],
)
_linalg("eigvalsh", linalg.eigvalsh, lambda d: [_spd(d)], grad=True)
_linalg("svd", lambda x: linalg.svd(x, compute_uv=False), _many)
_linalg(
    "svd product",
    lambda x: (lambda u, s, v: jnp.matmul(u * s[..., None, :], v, precision="highest"))(
        *linalg.svd(x, full_matrices=False)
    ),
    _many,
)
_linalg(
    "qr product",
    lambda x: (lambda q, r: jnp.matmul(q, r, precision="highest"))(*linalg.qr(x)),
    _many,
)
_linalg("qr modes", lambda x: abs(linalg.qr(x, mode="r")), lambda d: [_well(d)])
_linalg("pinv", linalg.pinv, lambda d: [_well(d)])
_linalg("lstsq", lambda a: linalg.lstsq(a, a[:, :1])[0], lambda d: [_matrix(d, 6, 3, batch=())])
_linalg(
    "norm",
    lambda x: (
        linalg.norm(x),
        linalg.norm(x, axis=-1),
        linalg.norm(x, 1, axis=-1),
        linalg.norm(x, jnp.inf, axis=-1),
        linalg.norm(x, ord="fro", axis=(-2, -1)),
    ),
    _many,
    1e-5,
)
_linalg(
    "norm nuc and 2",
    lambda x: (linalg.norm(x, ord="nuc", axis=(-2, -1)), linalg.norm(x, ord=2, axis=(-2, -1))),
    _many,
)
_linalg("matrix_power", lambda x: linalg.matrix_power(x / 12, 3), lambda d: [_well(d)], 2e-2)
_linalg(
    "matrix_rank and cond", lambda x: (linalg.matrix_rank(x), linalg.cond(x)), lambda d: [_well(d)]
)
_linalg("expm", lambda x: jsp.linalg.expm(x / 8), lambda d: [_matrix(d, batch=())], 2e-2)
_linalg(
    "lu product",
    lambda x: (
        lambda p, l, u: jnp.matmul(p, jnp.matmul(l, u, precision="highest"), precision="highest")
    )(*jsp.linalg.lu(x)),
    lambda d: [_well(d)],
)
_linalg(
    "lu_solve",
    lambda x: jsp.linalg.lu_solve(jsp.linalg.lu_factor(x), x[:, 0]),
    lambda d: [_well(d, batch=())],
)
_linalg(
    "cho_solve",
    lambda x: jsp.linalg.cho_solve(jsp.linalg.cho_factor(x), x[:, 0]),
    lambda d: [_spd(d, ())],
)
_linalg(
    "solve_triangular",
    lambda x: (
        jsp.linalg.solve_triangular(x, x[:, :1]),
        jsp.linalg.solve_triangular(x, x, lower=True, trans=1),
    ),
    lambda d: [_well(d, batch=())],
    grad=False,
)
_linalg(
    "sqrtm parts",
    lambda x: (
        jsp.linalg.block_diag(x, x),
        jsp.linalg.toeplitz(x[0]),
        jsp.linalg.hilbert(4),
        jsp.linalg.pascal(4),
    ),
    lambda d: [_matrix(d, batch=())],
)
_linalg("polar", lambda x: jsp.linalg.polar(x)[1], lambda d: [_well(d, batch=())])
_linalg(
    "eigh_tridiagonal",
    lambda x: jsp.linalg.eigh_tridiagonal(x, x[1:] / 2, eigvals_only=True),
    lambda d: [d.array((6,), "float32")],
)
_linalg(
    "multi_dot and outer",
    lambda x: (
        linalg.multi_dot([x, x.T, x], precision="highest"),
        linalg.outer(x[0], x[0]),
        linalg.matrix_transpose(x),
        linalg.vector_norm(x),
        linalg.trace(x),
    ),
    lambda d: [_matrix(d, batch=())],
    1e-4,
)


def _stat(name, function, arguments=1, tolerance=1e-4, kind="positive"):
    @entry("stats", name, tolerance)
    def _(d):
        shape = d.shape()
        return function, [d.array(shape, "float32", kind) for _ in range(arguments)]


for _name in ("norm", "cauchy", "expon", "laplace", "logistic", "gumbel_l", "gumbel_r", "uniform"):
    _module = getattr(stats, _name)
    for _part in ("pdf", "logpdf", "cdf", "logcdf", "sf", "isf", "ppf"):
        if hasattr(_module, _part):
            _stat(
                f"{_name}.{_part}",
                getattr(_module, _part),
                kind="unit" if _part in ("isf", "ppf") else "positive",
                tolerance=1e-3 if _part in ("isf", "ppf") else 1e-4,
            )
_stat("beta", lambda x, a, b: (stats.beta.logpdf(x, a, b), stats.beta.cdf(x / 4, a, b)), 3)
_stat("gamma", lambda x, a: (stats.gamma.logpdf(x, a), stats.gamma.cdf(x, a)), 2)
_stat("chi2", lambda x, k: (stats.chi2.logpdf(x, k), stats.chi2.cdf(x, k)), 2)
_stat("t", lambda x, k: stats.t.logpdf(x, k), 2)
_stat("pareto", lambda x, b: stats.pareto.logpdf(x, b), 2)
_stat(
    "poisson",
    lambda k, mu: (stats.poisson.logpmf(jnp.floor(k), mu), stats.poisson.cdf(jnp.floor(k), mu)),
    2,
)
_stat("geom", lambda k: stats.geom.logpmf(jnp.floor(k), 0.3))
_stat(
    "binom",
    lambda k: (
        stats.binom.logpmf(jnp.floor(k), 7, 0.3),
        stats.nbinom.logpmf(jnp.floor(k), 7, 0.3),
        stats.betabinom.logpmf(jnp.floor(k), 7, 2.0, 3.0),
    ),
)
_stat(
    "bernoulli",
    lambda k: (stats.bernoulli.logpmf(jnp.floor(k) % 2, 0.3), stats.bernoulli.cdf(k, 0.3)),
)
_stat(
    "truncnorm", lambda x: (stats.truncnorm.logpdf(x, -1.0, 2.5), stats.truncnorm.cdf(x, -1.0, 2.5))
)
_stat(
    "vonmises",
    lambda x: (
        stats.vonmises.logpdf(x, 2.0),
        stats.wrapcauchy.logpdf(x, 0.5),
        stats.gennorm.logpdf(x, 1.5),
    ),
)
_stat("sem", lambda x: stats.sem(x.ravel()))


@entry("stats", "rankdata, mode, kde", 1e-4)
def _(d):
    x = d.array((d.integer(2, 20),), "float32")
    method = d.choose("average", "min", "max", "dense", "ordinal")
    return d.choose(
        lambda x: stats.rankdata(x, method=method),
        lambda x: stats.mode(jnp.round(x)),
        lambda x: stats.gaussian_kde(x.reshape(1, -1))(jnp.linspace(-1, 1, 5)),
        lambda x: stats.multivariate_normal.logpdf(x[:2], jnp.zeros(2), jnp.eye(2)),
        lambda x: stats.dirichlet.logpdf(
            jnp.array([0.2, 0.3, 0.5]), jnp.array([1.0, 2.0, 3.0]) + abs(x[0])
        ),
        lambda x: stats.multinomial.logpmf(jnp.array([1, 2, 3]), 6, jnp.array([0.2, 0.3, 0.5])),
    ), [x]


@entry("signal", "convolve", 1e-4)
def _(d):
    rank = d.integer(1, 2)
    x, y = d.array([d.integer(3, 12) for _ in range(rank)], "float32"), d.array(
        [d.integer(1, 3) for _ in range(rank)], "float32"
    )
    mode = d.choose("full", "same", "valid")
    f = (
        d.choose(jsp.signal.convolve, jsp.signal.correlate)
        if rank == 1
        else d.choose(
            jsp.signal.convolve, jsp.signal.correlate, jsp.signal.convolve2d, jsp.signal.correlate2d
        )
    )
    return lambda x, y: f(x, y, mode=mode, precision="highest"), [x, y]


@entry("signal", "spectra", 1e-3)
def _(d):
    x = d.array((d.integer(16, 60),), "float32")
    return d.choose(
        lambda x: jsp.signal.fftconvolve(x, x[:4]),
        lambda x: jsp.signal.detrend(x),
        lambda x: jsp.signal.stft(x, nperseg=8)[2],
        lambda x: jsp.signal.welch(x, nperseg=8),
        lambda x: jsp.signal.csd(x, x[::-1], nperseg=8),
    ), [x]

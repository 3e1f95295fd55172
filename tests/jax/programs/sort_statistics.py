"""Order and counting: sorts of several arrays, medians, histograms, unique values, cumulative sums."""
import jax
import jax.numpy as jnp

from common import arrays, forward


def statistics(x, labels):
    order = jnp.argsort(x, axis=1, descending=True)
    ranked = jnp.take_along_axis(x, order, axis=1)
    by_label, by_value = jax.lax.sort((labels, x.ravel()[:labels.size]), num_keys=2)
    return (order, ranked, jnp.median(x, axis=0), jnp.quantile(x, 0.9, axis=1), by_label, by_value,
            jnp.bincount(labels, length=8), jnp.unique(labels, size=8, fill_value=-1),
            jnp.cumsum(x, axis=1), jnp.cumprod(jnp.sign(x), axis=0),
            jax.lax.cummax(x, axis=0, reverse=True), jnp.searchsorted(jnp.sort(x[0]), x[1]))


def program():
    normal, whole = arrays(18)
    return forward(statistics, normal(13, 21), whole(8, 100))

"""A Kalman filter over a series: Cholesky factors, triangular solves and products in a scan."""
import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve

from common import arrays, forward


def run(model, series):
    move, see, move_noise, see_noise = model

    def step(state, observation):
        mean, spread = state
        mean, spread = move @ mean, move @ spread @ move.T + move_noise
        factor = jnp.linalg.cholesky(see @ spread @ see.T + see_noise)
        gain = cho_solve((factor, True), see @ spread).T
        off = observation - see @ mean
        likely = -0.5 * off @ cho_solve((factor, True), off) - jnp.log(jnp.diag(factor)).sum()
        return (mean + gain @ off, spread - gain @ see @ spread), (mean, likely)
    size = move.shape[0]
    (mean, spread), (means, likely) = jax.lax.scan(step, (jnp.zeros(size), jnp.eye(size)), series)
    return mean, spread, means, likely.sum()


def program():
    normal, _ = arrays(17)
    model = (0.9 * jnp.eye(6) + 0.05 * normal(6, 6), normal(3, 6), 0.1 * jnp.eye(6),
             0.2 * jnp.eye(3))
    return forward(run, model, normal(14, 3))

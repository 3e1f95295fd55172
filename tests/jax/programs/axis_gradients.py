"""Gradients through places along every axis: sorts, take_along_axis, cumulative extremes, updates of
whole arrays, and the bits of bf16 numbers."""
import jax
import jax.numpy as jnp

from common import arrays, forward


def objective(x, y, order):
    total = jnp.sum(x.at[:].add(y) ** 3)
    for axis in range(x.ndim):
        total += jnp.sum(jnp.take(jnp.sort(x, axis), 1, axis) ** 2)
        total += jnp.sum(jnp.take_along_axis(x, order % x.shape[axis], axis) ** 2 * y)
        total += jnp.sum(jnp.median(x, axis)) + jnp.sum(jax.lax.cummax(x, axis) * y)
    return total


def gradients(x, y, order):
    bits = jax.lax.bitcast_convert_type(x.astype(jnp.bfloat16), jnp.uint16)
    return jax.value_and_grad(objective, (0, 1))(x, y, order), bits


def program():
    normal, whole = arrays(24)
    return forward(gradients, normal(6, 9, 5), normal(6, 9, 5), whole(45, 6, 9, 5))

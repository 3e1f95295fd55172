"""Loops whose ends the data say: Newton's square roots, a conjugate gradient, steps of Collatz."""
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def roots(a):
    """until all have settled"""
    def unsettled(carry):
        x, steps = carry
        return (jnp.max(jnp.abs(x * x - a) / a) > 1e-5) & (steps < 100)

    return jax.lax.while_loop(unsettled, lambda c: (0.5 * (c[0] + a / c[0]), c[1] + 1),
                              (jnp.maximum(a, 1.0), 0))


@jax.jit
def solve(a, b):
    """conjugate gradients, until the residual is a thousandth of what it was"""
    def unsettled(carry):
        _, r, _, steps = carry
        return (r @ r > 1e-6 * (b @ b)) & (steps < 200)

    def better(carry):
        x, r, p, steps = carry
        ap = jnp.dot(a, p, precision="highest")
        alpha = (r @ r) / (p @ ap)
        x, new = x + alpha * p, r - alpha * ap
        return x, new, new + (new @ new) / (r @ r) * p, steps + 1

    return jax.lax.while_loop(unsettled, better, (jnp.zeros_like(b), b, b, 0))


@jax.jit
def collatz(n):
    """how many steps until 1, for each of many at once"""
    def one(n):
        return jax.lax.while_loop(lambda c: c[0] != 1,
                                  lambda c: (jnp.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1),
                                  (n, 0))[1]
    return jax.vmap(one)(n)


rng = np.random.default_rng(0)
x, steps = roots(rng.uniform(0.5, 900, 64).astype(np.float32))
m = rng.normal(size=(48, 48)).astype(np.float32)
with jax.default_matmul_precision("highest"):
    solved, _, _, turns = solve(m @ m.T + 40 * np.eye(48, dtype=np.float32), np.ones(48, np.float32))
lengths = collatz(jnp.arange(1, 33))
print(f"{int(steps)} steps of Newton, {int(turns)} of the conjugate gradient, Collatz at most "
      f"{int(lengths.max())}")
print("numbers", int(steps), *[f"{float(v):.6f}" for v in [*x[:4], *solved[:4]]],
      *[int(v) for v in lengths])

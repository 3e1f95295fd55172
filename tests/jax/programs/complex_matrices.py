"""Complex matrices: values of Hermitian ones, singular values, what is put together from vectors,
solutions, factors, determinants."""
import jax.numpy as jnp

from common import arrays, forward


def algebra(re, im):
    z = re + 1j * im
    hermitian = z @ z.conj().mT + 3 * jnp.eye(z.shape[-1])
    values, vectors = jnp.linalg.eigh(hermitian)
    u, s, v = jnp.linalg.svd(z, full_matrices=False)
    return (values, jnp.einsum("bik,bk,bjk->bij", vectors, jnp.sqrt(values), vectors.conj()),
            s, jnp.einsum("bik,bk,bkj->bij", u, s, v), jnp.linalg.solve(hermitian, z),
            jnp.linalg.cholesky(hermitian), jnp.linalg.det(z))


def program():
    normal, _ = arrays(25)
    return forward(algebra, normal(2, 5, 5), normal(2, 5, 5))

"""What the newest JAX writes otherwise than the pinned one: shard_map whose groups of devices are axes of a
mesh, shardings that types have, and the usual beside. Prints numbers; with a folder, exports the first
program there with its inputs and outputs.

    python newest.py [FOLDER]
"""
import os
import sys

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

SHAPE = (16, 8)


def collectives(x):
    rows = x.shape[0]
    return (lax.psum(x, "a") + lax.all_gather(x, "b", tiled=True)[:rows] + lax.ppermute(x, "b", [(0, 1), (1, 2), (2, 3)])
            + lax.all_to_all(x, "b", 0, 0, tiled=True) + lax.psum_scatter(jnp.tile(x, (4, 1)), "b", tiled=True)
            + lax.pmax(x, ("a", "b")))


def loss(w, x):
    y = jnp.einsum("ij,jk->ik", x, w, out_sharding=P("a", None))
    return jnp.sum(jax.nn.softmax(jnp.tanh(y)) ** 2)


def usual(x):
    key = jax.random.key(3)
    values, places = lax.top_k(x, 3)
    carried, each = lax.scan(lambda s, v: (0.5 * s + v, jnp.sort(s)), x[0], x)
    spectrum = jnp.fft.rfft(x)
    return (values, places, carried, each, jnp.linalg.qr(x.T)[1], jnp.linalg.svd(x, compute_uv=False),
            jax.scipy.special.digamma(x * x + 1), jax.random.normal(key, (3,)), jnp.real(spectrum), jnp.imag(spectrum))


def main():
    mesh = jax.make_mesh((2, 4), ("a", "b"))
    jax.set_mesh(mesh)
    jax.config.update("jax_default_matmul_precision", "highest")
    rng = np.random.default_rng(0)
    x = jax.device_put(rng.normal(size=SHAPE).astype(np.float32), NamedSharding(mesh, P("a", "b")))
    w = jax.device_put(rng.normal(size=(8, 12)).astype(np.float32), NamedSharding(mesh, P("b", None)))
    mapped = jax.jit(jax.shard_map(collectives, in_specs=P("a", "b"), out_specs=P("a", "b"), check_vma=False))
    got = [mapped(x), *jax.jit(jax.value_and_grad(loss))(w, x), *jax.jit(usual)(np.asarray(x))]
    print("numbers", *[f"{n:.6g}" for a in got for n in (np.abs(np.asarray(a)).sum(), np.asarray(a).ravel()[-1])])
    if len(sys.argv) > 1:
        exported = jax.export.export(mapped, platforms=["tpu"])(x)
        with open(os.path.join(sys.argv[1], "program.mlirbc"), "wb") as f:
            f.write(exported.mlir_module_serialized)
        with open(os.path.join(sys.argv[1], "program.mlir"), "w", encoding="utf-8") as f:
            f.write(exported.mlir_module())
        np.save(os.path.join(sys.argv[1], "x.npy"), np.asarray(x))
        np.save(os.path.join(sys.argv[1], "y.npy"), np.asarray(got[0]))


main()

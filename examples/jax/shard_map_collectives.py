"""Collectives written out with shard_map: a product whose second factor goes round a ring, a sum
over all devices, a gather, a scatter and an exchange of all with all."""
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

count = len(jax.devices())
mesh = Mesh(np.array(jax.devices()), ("i",))
rng = np.random.default_rng(0)
a = rng.normal(size=(16 * count, 24 * count)).astype(np.float32)
b = rng.normal(size=(24 * count, 40)).astype(np.float32)


@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(P("i", None), P("i", None)), out_specs=P("i", None),
         check_vma=False)
def ring_product(a, b):
    """rows of a stay; parts of b come by, each for another part of a's columns"""
    me = jax.lax.axis_index("i")
    ring = [(d, (d + 1) % count) for d in range(count)]

    def turn(k, carry):
        total, b = carry
        part = jax.lax.dynamic_slice_in_dim(a, (me - k) % count * 24, 24, axis=1)
        return total + jnp.dot(part, b, precision="highest"), jax.lax.ppermute(b, "i", ring)

    return jax.lax.fori_loop(0, count, turn, (jnp.zeros((a.shape[0], b.shape[1])), b))[0]


@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False)
def normalize(x):
    """by mean and deviation of all devices' rows"""
    mean = jax.lax.pmean(x.mean(), "i")
    return (x - mean) / jnp.sqrt(jax.lax.pmean(((x - mean) ** 2).mean(), "i") + 1e-6)


@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=P("i"), out_specs=(P("i"), P("i"), P("i")), check_vma=False)
def exchange(x):
    everyone = jax.lax.all_gather(x, "i", tiled=True)
    summed = jax.lax.psum_scatter(everyone, "i", tiled=True)
    turned = jax.lax.all_to_all(x.reshape(count, -1), "i", split_axis=0, concat_axis=0)
    return everyone.sum(axis=0, keepdims=True), summed, turned


product = ring_product(a, b)
rows = rng.normal(size=(8 * count, 32)).astype(np.float32)
everyone, summed, turned = exchange(rows)
numbers = [np.abs(np.asarray(product) - a @ b).max() / np.abs(a @ b).max() < 1e-5,
           *np.asarray(product)[:2, :3].ravel(), *np.asarray(normalize(rows))[0, :3],
           *np.asarray(everyone)[0, :2], *np.asarray(summed)[-1, :2], *np.asarray(turned)[1, :2]]
print(f"{count} devices")
print("numbers", *[f"{float(n):.6f}" for n in numbers])

"""A transformer's feed-forward block in bf16 with f32 weights and a scaled loss."""
import jax
import jax.numpy as jnp
import optax

from common import arrays, training


def program():
    normal, _ = arrays(16)
    parameters = {"up": normal(64, 160, scale=0.1), "down": normal(160, 64, scale=0.1),
                  "scale": jnp.ones(64)}

    def loss(p, batch):
        x, target = batch
        p = jax.tree.map(lambda w: w.astype(jnp.bfloat16), p)
        x = x.astype(jnp.bfloat16)
        y = x + jax.nn.gelu(x @ p["up"]) @ p["down"] * p["scale"]
        return 128 * jnp.mean((y.astype(jnp.float32) - target) ** 2)
    optimizer = optax.chain(optax.scale(1 / 128), optax.adam(1e-3, eps=1e-3))
    return training(loss, optimizer, parameters, (normal(24, 64), normal(24, 64)))

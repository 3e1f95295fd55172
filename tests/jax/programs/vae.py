"""A variational autoencoder: noise of a key of the state, two losses, SGD with a falling rate."""
import jax
import jax.numpy as jnp
import optax

from common import arrays


def program():
    normal, _ = arrays(13)
    parameters = {"e": normal(40, 30, scale=0.2), "mean": normal(30, 5, scale=0.2),
                  "spread": normal(30, 5, scale=0.1), "d": normal(5, 30, scale=0.4),
                  "out": normal(30, 40, scale=0.2)}
    optimizer = optax.sgd(optax.exponential_decay(0.1, 5, 0.8))

    def step(state, x):
        p, slots, key = state
        key, own = jax.random.split(key)

        def loss(p):
            h = jax.nn.elu(x @ p["e"])
            mean, spread = h @ p["mean"], h @ p["spread"]
            z = mean + jnp.exp(0.5 * spread) * jax.random.normal(own, mean.shape)
            logits = jax.nn.softplus(z @ p["d"]) @ p["out"]
            back = optax.sigmoid_binary_cross_entropy(logits, jax.nn.sigmoid(x)).sum(-1)
            far = -0.5 * (1 + spread - mean ** 2 - jnp.exp(spread)).sum(-1)
            return (back + far).mean() / 40
        value, gradients = jax.value_and_grad(loss)(p)
        updates, slots = optimizer.update(gradients, slots)
        return (optax.apply_updates(p, updates), slots, key), value

    state = (parameters, optimizer.init(parameters), jax.random.PRNGKey(3))
    return {"function": step, "arguments": (state, normal(15, 40)),
            "carry": len(jax.tree.leaves(state)), "steps": 20}

"""An LSTM over a sequence by lax.scan, trained by RMSprop."""
import jax
import jax.numpy as jnp
import optax

from common import arrays, training


def program():
    normal, _ = arrays(5)
    parameters = {"x": normal(11, 4 * 26, scale=0.3), "h": normal(26, 4 * 26, scale=0.2),
                  "b": normal(4 * 26, scale=0.1), "out": normal(26, 3, scale=0.2)}

    def loss(p, batch):
        x, target = batch

        def cell(carry, x):
            h, c = carry
            i, f, g, o = jnp.split(x @ p["x"] + h @ p["h"] + p["b"], 4, axis=-1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h @ p["out"]
        zeros = jnp.zeros((x.shape[1], 26))
        _, y = jax.lax.scan(cell, (zeros, zeros), x)
        return jnp.mean((y - target) ** 2)
    return training(loss, optax.rmsprop(2e-3), parameters, (normal(17, 6, 11), normal(17, 6, 3)))

"""A step of a diffusion model: noise of a key of the state, a U-Net with group norms and skips."""
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from common import arrays


class Network(nn.Module):
    @nn.compact
    def __call__(self, x, time):
        angle = time[:, None] * jnp.exp(-jnp.arange(8) * 0.7)
        t = nn.Dense(24)(nn.silu(nn.Dense(24)(jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1))))

        def block(x, width):
            y = nn.Conv(width, (3, 3))(nn.silu(nn.GroupNorm(num_groups=4)(x)))
            return y + nn.Dense(width)(t)[:, None, None, :]
        x = nn.Conv(12, (3, 3))(x)
        first = block(x, 12)
        x = nn.Conv(16, (3, 3), strides=(2, 2))(first)
        x = block(x, 16)
        x = nn.ConvTranspose(12, (4, 4), strides=(2, 2))(x)
        x = block(jnp.concatenate([x, first], -1), 12)
        return nn.Conv(2, (1, 1))(x)


def program():
    normal, _ = arrays(9)
    network, images = Network(), normal(4, 12, 10, 2)
    parameters = network.init(jax.random.key(2), images, jnp.zeros(4))
    optimizer = optax.adam(1e-3)

    def step(state, images):
        parameters, slots, key = state
        key, noise_key, time_key = jax.random.split(key, 3)
        noise = jax.random.normal(noise_key, images.shape)
        time = jax.random.uniform(time_key, (images.shape[0],))
        signal = jnp.cos(0.5 * jnp.pi * time)[:, None, None, None]

        def loss(parameters):
            x = signal * images + jnp.sqrt(1 - signal ** 2) * noise
            return jnp.mean((network.apply(parameters, x, time) - noise) ** 2)
        value, gradients = jax.value_and_grad(loss)(parameters)
        updates, slots = optimizer.update(gradients, slots)
        return (optax.apply_updates(parameters, updates), slots, key), value

    state = (parameters, optimizer.init(parameters), jax.random.PRNGKey(5))
    return {"function": step, "arguments": (state, images),
            "carry": len(jax.tree.leaves(state)), "steps": 20}

"""A vision transformer: patches, a class token, learned positions, Flax's attention."""
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

from common import arrays, cross_entropy, training


class Network(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(36, (4, 4), strides=(4, 4), padding="VALID")(x)
        x = x.reshape(x.shape[0], -1, 36)
        token = self.param("token", nn.initializers.zeros, (1, 1, 36))
        x = jnp.concatenate([jnp.tile(token, (x.shape[0], 1, 1)), x], 1)
        x = x + self.param("place", nn.initializers.normal(0.02), (1, x.shape[1], 36))
        for _ in range(2):
            y = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=3, use_bias=False)(y, y)
            y = nn.gelu(nn.Dense(70)(nn.LayerNorm()(x)))
            x = x + nn.Dense(36)(y)
        return nn.Dense(6)(nn.LayerNorm()(x)[:, 0])


def program():
    normal, whole = arrays(4)
    network, x = Network(), normal(5, 20, 24, 3)
    parameters = network.init(jax.random.key(1), x)

    def loss(parameters, batch):
        return cross_entropy(network.apply(parameters, batch[0]), batch[1])
    return training(loss, optax.adamw(1e-3, eps=1e-4), parameters, (x, whole(6, 5)))

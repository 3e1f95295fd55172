"""A small GPT: embeddings, causal attention, tied output weights, label loss over a sequence."""
import jax
import jax.numpy as jnp
import optax

from common import arrays, cross_entropy, training

HEADS = 4


def norm(x, scale, bias):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + bias


def attention(x, p):
    batch, length, width = x.shape
    q, k, v = jnp.split(x @ p["qkv"], 3, axis=-1)
    q, k, v = (t.reshape(batch, length, HEADS, -1).transpose(0, 2, 1, 3) for t in (q, k, v))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    y = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)
    return y.transpose(0, 2, 1, 3).reshape(batch, length, width) @ p["out"]


def program():
    normal, whole = arrays(6)
    width, vocabulary, length = 44, 83, 21
    layers = [{"qkv": normal(width, 3 * width, scale=0.1), "out": normal(width, width, scale=0.1),
               "up": normal(width, 4 * width, scale=0.1), "down": normal(4 * width, width, scale=0.05),
               "n1": (jnp.ones(width), jnp.zeros(width)), "n2": (jnp.ones(width), jnp.zeros(width))}
              for _ in range(2)]
    parameters = {"words": normal(vocabulary, width, scale=0.1),
                  "places": normal(length, width, scale=0.1), "layers": layers}

    def loss(p, batch):
        x = p["words"][batch[:, :-1]] + p["places"]
        for layer in p["layers"]:
            x = x + attention(norm(x, *layer["n1"]), layer)
            x = x + jax.nn.gelu(norm(x, *layer["n2"]) @ layer["up"]) @ layer["down"]
        return cross_entropy(x @ p["words"].T, batch[:, 1:])
    return training(loss, optax.adam(1e-3, b2=0.95), parameters, whole(vocabulary, 3, length + 1))

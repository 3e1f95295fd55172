"""Llama's block: RMS norms, rotary positions by complex numbers, grouped queries, SwiGLU; its layers
scanned over stacked weights, with gradients computed again (jax.checkpoint)."""
import jax
import jax.numpy as jnp
import optax

from common import arrays, cross_entropy, training

HEADS, GROUPS, DEPTH = 6, 2, 8


def norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale


def rotate(x, turns):
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    turned = jax.lax.complex(pairs[..., 0], pairs[..., 1]) * turns[:, None]
    return jnp.stack([turned.real, turned.imag], -1).reshape(x.shape)


def block(x, p, turns):
    batch, length, _ = x.shape
    y = norm(x, p["n1"])
    q = rotate((y @ p["q"]).reshape(batch, length, HEADS, DEPTH), turns)
    k = rotate((y @ p["k"]).reshape(batch, length, GROUPS, DEPTH), turns)
    v = (y @ p["v"]).reshape(batch, length, GROUPS, DEPTH)
    y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + y.reshape(batch, length, -1) @ p["o"]
    y = norm(x, p["n2"])
    return x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]


def program():
    normal, whole = arrays(7)
    width, inner, layers, length, vocabulary = 48, 100, 3, 19, 61
    stacked = {"q": normal(layers, width, HEADS * DEPTH, scale=0.1),
               "k": normal(layers, width, GROUPS * DEPTH, scale=0.1),
               "v": normal(layers, width, GROUPS * DEPTH, scale=0.1),
               "o": normal(layers, HEADS * DEPTH, width, scale=0.1),
               "gate": normal(layers, width, inner, scale=0.1),
               "up": normal(layers, width, inner, scale=0.1),
               "down": normal(layers, inner, width, scale=0.1),
               "n1": jnp.ones((layers, width)), "n2": jnp.ones((layers, width))}
    parameters = {"words": normal(vocabulary, width), "layers": stacked,
                  "out": normal(width, vocabulary, scale=0.1)}
    angles = jnp.arange(length)[:, None] * 10000.0 ** (-jnp.arange(0, DEPTH, 2) / DEPTH)

    def loss(p, batch):
        turns = jnp.exp(jax.lax.complex(jnp.zeros_like(angles), angles))
        layer = jax.checkpoint(lambda x, p: (block(x, p, turns), None))
        x, _ = jax.lax.scan(layer, p["words"][batch[:, :-1]], p["layers"])
        return cross_entropy(x @ p["out"], batch[:, 1:])
    return training(loss, optax.adamw(1e-3), parameters, whole(vocabulary, 2, length + 1))

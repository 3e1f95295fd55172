"""Greedy decoding with a cache of keys and values, written place by place in a loop."""
import jax
import jax.numpy as jnp

from common import arrays, forward

HEADS, DEPTH, WORDS, LENGTH = 3, 8, 37, 12


def decode(p, first):
    batch = first.shape[0]

    def body(state, place):
        word, keys, values = state
        x = p["words"][word]
        q, k, v = (t.reshape(batch, HEADS, DEPTH) for t in jnp.split(x @ p["qkv"], 3, axis=-1))
        keys = jax.lax.dynamic_update_slice(keys, k[:, None], (0, place, 0, 0))
        values = jax.lax.dynamic_update_slice(values, v[:, None], (0, place, 0, 0))
        scores = jnp.einsum("bhd,blhd->bhl", q, keys) * DEPTH ** -0.5
        scores = jnp.where(jnp.arange(LENGTH) <= place, scores, -jnp.inf)
        y = jnp.einsum("bhl,blhd->bhd", jax.nn.softmax(scores), values)
        logits = (x + y.reshape(batch, -1) @ p["out"]) @ p["words"].T
        word = jnp.argmax(logits, -1).astype(jnp.int32)
        return (word, keys, values), (word, logits.max(-1))
    cache = jnp.zeros((batch, LENGTH, HEADS, DEPTH))
    _, (words, best) = jax.lax.scan(body, (first, cache, cache), jnp.arange(LENGTH))
    return words.T, best.T


def program():
    normal, whole = arrays(15)
    width = HEADS * DEPTH
    parameters = {"words": normal(WORDS, width), "qkv": normal(width, 3 * width, scale=0.2),
                  "out": normal(width, width, scale=0.2)}
    return forward(decode, parameters, whole(WORDS, 5))

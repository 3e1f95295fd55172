"""Beam search over a small recurrent model: top-k, gathers of histories, an end symbol."""
import jax
import jax.numpy as jnp

from common import arrays, forward

BEAMS, WORDS, LENGTH, END = 4, 23, 9, 0


def search(p, start):
    def scores_of(h, word):
        h = jnp.tanh(p["words"][word] + h @ p["h"])
        return h, jax.nn.log_softmax(h @ p["out"])

    def body(i, state):
        h, word, score, history, is_over = state
        h, step = scores_of(h, word)
        over = jnp.where(jnp.arange(WORDS) == END, 0.0, -jnp.inf)
        total = score[:, None] + jnp.where(is_over[:, None], over, step)
        score, place = jax.lax.top_k(total.reshape(-1), BEAMS)
        beam, word = place // WORDS, place % WORDS
        history = history[beam].at[:, i].set(word)
        return h[beam], word, score, history, is_over[beam] | (word == END)

    state = (jnp.tile(start, (BEAMS, 1)), jnp.full(BEAMS, 1),
             jnp.where(jnp.arange(BEAMS) == 0, 0.0, -jnp.inf),
             jnp.zeros((BEAMS, LENGTH), jnp.int32), jnp.zeros(BEAMS, bool))
    _, _, score, history, is_over = jax.lax.fori_loop(0, LENGTH, body, state)
    return history, score, is_over


def program():
    normal, _ = arrays(12)
    parameters = {"words": normal(WORDS, 16), "h": normal(16, 16, scale=0.3),
                  "out": normal(16, WORDS)}
    return forward(search, parameters, normal(1, 16))

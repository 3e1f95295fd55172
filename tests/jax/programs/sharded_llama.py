"""Eight Llama layers on 2 x 4 devices: weights cut over both axes (FSDP and tensor parallel), the
batch over the first; a training step of SGD over scanned layers."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

from common import arrays, cross_entropy

HEADS, DEPTH, WIDTH, INNER, LAYERS, WORDS = 4, 8, 32, 64, 8, 40


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)


def block(x, p):
    batch, length, _ = x.shape
    q, k, v = (jnp.einsum("blw,whd->blhd", norm(x), p[n]) for n in "qkv")
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * DEPTH ** -0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    y = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    x = x + jnp.einsum("bqhd,hdw->bqw", y, p["o"])
    y = norm(x)
    return x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]


def program():
    normal, whole = arrays(21)
    mesh = Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("data", "model"))
    cuts = {"q": P(None, "data", "model"), "k": P(None, "data", "model"),
            "v": P(None, "data", "model"), "o": P(None, "model", None, "data"),
            "gate": P(None, "data", "model"), "up": P(None, "data", "model"),
            "down": P(None, "model", "data")}
    layers = {n: normal(LAYERS, WIDTH, HEADS, DEPTH, scale=0.15) for n in "qkv"}
    layers |= {"o": normal(LAYERS, HEADS, DEPTH, WIDTH, scale=0.15),
               "gate": normal(LAYERS, WIDTH, INNER, scale=0.15),
               "up": normal(LAYERS, WIDTH, INNER, scale=0.15),
               "down": normal(LAYERS, INNER, WIDTH, scale=0.15)}
    parameters = {"words": normal(WORDS, WIDTH), "layers": layers, "out": normal(WIDTH, WORDS)}
    specs = {"words": P(None, "model"), "layers": cuts, "out": P("data", "model")}
    shardings = jax.tree.map(lambda s: NamedSharding(mesh, s), specs,
                             is_leaf=lambda s: isinstance(s, P))
    batch_sharding = NamedSharding(mesh, P("data", None))

    def loss(p, batch):
        x = p["words"][batch[:, :-1]]
        x = jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P("data", None, None)))
        x, _ = jax.lax.scan(lambda x, layer: (block(x, layer), None), x, p["layers"])
        return cross_entropy(norm(x) @ p["out"], batch[:, 1:])

    def step(p, batch):
        value, gradients = jax.value_and_grad(loss)(p, batch)
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, gradients), value

    return {"function": step, "arguments": (parameters, whole(WORDS, 4, 13)),
            "carry": len(jax.tree.leaves(parameters)), "steps": 2, "devices": 8,
            "in_shardings": (shardings, batch_sharding), "out_shardings": (shardings, None)}

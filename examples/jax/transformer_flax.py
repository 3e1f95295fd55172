"""A language model of characters in Flax and Optax, jitted over a mesh of all devices: samples are
cut along one axis, the wide weights along the other (NamedSharding).

    systole jax --tpu v5e-8 examples/jax/transformer_flax.py --steps 20
"""
import argparse

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

parser = argparse.ArgumentParser()
parser.add_argument("--text", help="a file to learn from; without it a sentence is repeated")
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--length", type=int, default=32)
parser.add_argument("--width", type=int, default=64)
parser.add_argument("--layers", type=int, default=2)
args = parser.parse_args()

text = open(args.text, encoding="utf-8").read() if args.text else \
    "the quick brown fox jumps over the lazy dog and runs away; " * 40
letters = sorted(set(text))
tokens = np.array([letters.index(c) for c in text], np.int32)


class Block(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm()(x)
        mask = nn.make_causal_mask(jnp.ones(x.shape[:2]))
        x = x + nn.MultiHeadDotProductAttention(num_heads=4)(y, y, mask=mask)
        y = nn.Dense(4 * self.width)(nn.LayerNorm()(x))
        return x + nn.Dense(self.width)(nn.gelu(y))


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        place = self.param("place", nn.initializers.normal(0.02), (args.length, args.width))
        x = nn.Embed(len(letters), args.width)(x) + place
        for _ in range(args.layers):
            x = Block(args.width)(x)
        return nn.Dense(len(letters))(nn.LayerNorm()(x))


def cut(leaf):
    """matrices whose last dimension is wide are cut there, all else is on every device"""
    wide = leaf.ndim == 2 and leaf.shape[1] == 4 * args.width
    return NamedSharding(mesh, P(None, "model") if wide else P())


model, optimizer = Model(), optax.adamw(3e-3)
count = len(jax.devices())
models = 2 if count % 2 == 0 else 1
mesh = Mesh(np.array(jax.devices()).reshape(count // models, models), ("data", "model"))
parameters = model.init(jax.random.key(0), jnp.zeros((1, args.length), jnp.int32))
parameters = jax.device_put(parameters, jax.tree.map(cut, parameters))
state = optimizer.init(parameters)


@jax.jit
def step(parameters, state, x, y):
    def loss_of(parameters):
        logits = model.apply(parameters, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    loss, gradients = jax.value_and_grad(loss_of)(parameters)
    updates, state = optimizer.update(gradients, state, parameters)
    return loss, optax.apply_updates(parameters, updates), state


rng = np.random.default_rng(0)
samples = NamedSharding(mesh, P("data"))
losses = []
for i in range(args.steps):
    at = rng.integers(0, len(tokens) - args.length - 1, args.batch)
    x = jax.device_put(np.stack([tokens[a:a + args.length] for a in at]), samples)
    y = jax.device_put(np.stack([tokens[a + 1:a + args.length + 1] for a in at]), samples)
    loss, parameters, state = step(parameters, state, x, y)
    losses.append(float(loss))
print(f"{count} devices: {jax.devices()[0].device_kind}, mesh {dict(mesh.shape)}")
print("numbers", *[f"{loss:.6f}" for loss in losses])

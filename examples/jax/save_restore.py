"""A training that is saved with Orbax and with numpy, and goes on where it was."""
import os
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp

rng = np.random.default_rng(0)
x = rng.normal(size=(64, 16)).astype(np.float32)
y = np.sin(x.sum(axis=1, keepdims=True)).astype(np.float32)
optimizer = optax.adam(0.01)


def init(key):
    a, b = jax.random.split(key)
    return {"hidden": jax.random.normal(a, (16, 32)) / 4, "out": jax.random.normal(b, (32, 1)) / 6}


@jax.jit
def step(state):
    def loss_of(w):
        h = jnp.tanh(jnp.dot(x, w["hidden"], precision="highest"))
        return jnp.mean((jnp.dot(h, w["out"], precision="highest") - y) ** 2)

    loss, gradients = jax.value_and_grad(loss_of)(state["weights"])
    updates, slots = optimizer.update(gradients, state["slots"])
    return loss, {"weights": optax.apply_updates(state["weights"], updates), "slots": slots}


def train(state, steps):
    losses = []
    for _ in range(steps):
        loss, state = step(state)
        losses.append(float(loss))
    return state, losses


weights = init(jax.random.key(0))
state, first = train({"weights": weights, "slots": optimizer.init(weights)}, 10)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "orbax")
    with ocp.StandardCheckpointer() as saver:
        saver.save(path, state)
    with ocp.StandardCheckpointer() as saver:
        from_orbax = saver.restore(path, state)
    leaves, tree = jax.tree.flatten(state)
    np.savez(f"{folder}/state.npz", *[np.asarray(leaf) for leaf in leaves])
    with np.load(f"{folder}/state.npz") as z:
        from_numpy = jax.tree.unflatten(tree, [jnp.asarray(z[f"arr_{i}"]) for i in range(len(leaves))])
ends = [train(s, 10)[1] for s in (state, from_orbax, from_numpy)]
print(f"goes on the same from all three: {ends[0] == ends[1] == ends[2]}")
print("numbers", f"{ends[0] == ends[1] == ends[2]:d}", *[f"{loss:.6f}" for loss in first + ends[0]])

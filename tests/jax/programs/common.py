"""What the programs share: arrays from one seed, and a training step whose state comes first, among
parameters and results, so that results feed the next step."""
import jax
import jax.numpy as jnp
import numpy as np
import optax


def arrays(seed):
    """normal(shape, scale) and whole(high, shape), drawn one after the other"""
    rng = np.random.default_rng(seed)

    def normal(*shape, scale=1.0):
        return jnp.asarray(scale * rng.standard_normal(shape), jnp.float32)

    def whole(high, *shape):
        return jnp.asarray(rng.integers(0, high, shape), jnp.int32)
    return normal, whole


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def training(loss, optimizer, parameters, batch):
    """(state, batch) -> (state, loss) as a program of many steps"""
    def step(state, batch):
        parameters, slots = state
        value, gradients = jax.value_and_grad(loss)(parameters, batch)
        updates, slots = optimizer.update(gradients, slots, parameters)
        return (optax.apply_updates(parameters, updates), slots), value

    state = (parameters, optimizer.init(parameters))
    return {"function": step, "arguments": (state, batch),
            "carry": len(jax.tree.leaves(state)), "steps": 20}


def forward(function, *arguments):
    return {"function": function, "arguments": arguments, "carry": 0, "steps": 1}

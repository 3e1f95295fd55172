"""Deep Q-learning from a buffer: drawn samples, a target network that follows, Huber's loss."""
import jax
import jax.numpy as jnp
import optax

from common import arrays


def q(p, x):
    return jax.nn.relu(x @ p["w"] + p["b"]) @ p["v"]


def program():
    normal, whole = arrays(20)
    parameters = {"w": normal(9, 32, scale=0.3), "b": normal(32, scale=0.1), "v": normal(32, 4, scale=0.2)}
    target = jax.tree.map(lambda w: w + 0, parameters)
    buffer = (normal(60, 9), whole(4, 60), normal(60), normal(60, 9), whole(2, 60))
    optimizer = optax.adam(3e-3)

    def step(state, buffer):
        p, target, slots, key = state
        key, own = jax.random.split(key)
        rows = jax.random.randint(own, (16,), 0, 60)
        x, action, reward, after, is_over = (t[rows] for t in buffer)

        def loss(p):
            best = jnp.argmax(q(p, after), -1)
            future = jnp.take_along_axis(q(target, after), best[:, None], 1)[:, 0]
            goal = reward + 0.97 * future * (1 - is_over)
            value = jnp.take_along_axis(q(p, x), action[:, None], 1)[:, 0]
            return optax.huber_loss(value, jax.lax.stop_gradient(goal)).mean()
        value, gradients = jax.value_and_grad(loss)(p)
        updates, slots = optimizer.update(gradients, slots)
        p = optax.apply_updates(p, updates)
        target = optax.incremental_update(p, target, 0.05)
        return (p, target, slots, key), value

    state = (parameters, target, optimizer.init(parameters), jax.random.PRNGKey(8))
    return {"function": step, "arguments": (state, buffer),
            "carry": len(jax.tree.leaves(state)), "steps": 20}

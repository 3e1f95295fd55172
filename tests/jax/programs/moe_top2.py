"""A mixture of experts: each token goes to its two best, within a capacity."""
import jax
import jax.numpy as jnp
import optax

from common import arrays, training

EXPERTS, CAPACITY = 5, 14


def route(x, gate):
    probability = jax.nn.softmax(x @ gate)
    weight, expert = jax.lax.top_k(probability, 2)
    weight = weight / weight.sum(-1, keepdims=True)
    chosen = jax.nn.one_hot(expert, EXPERTS, dtype=jnp.int32)            # tokens, 2, experts
    flat = chosen.reshape(-1, EXPERTS)
    place = (jnp.cumsum(flat, axis=0) - 1) * flat
    place = place.sum(-1).reshape(expert.shape)
    is_in = place < CAPACITY
    return weight * is_in, expert, jnp.where(is_in, place, CAPACITY)


def program():
    normal, _ = arrays(8)
    width, inner = 24, 40
    parameters = {"gate": normal(width, EXPERTS, scale=0.5),
                  "up": normal(EXPERTS, width, inner, scale=0.2),
                  "down": normal(EXPERTS, inner, width, scale=0.2)}

    def loss(p, batch):
        x, target = batch
        weight, expert, place = route(x, p["gate"])
        slots = jnp.zeros((EXPERTS, CAPACITY + 1, width)).at[expert, place].add(x[:, None, :])
        y = jnp.einsum("ecw,ewi->eci", slots, p["up"])
        y = jnp.einsum("eci,eiw->ecw", jax.nn.relu(y), p["down"])
        y = (y[expert, place] * weight[..., None]).sum(1)
        return jnp.mean((y - target) ** 2)
    return training(loss, optax.adam(2e-3), parameters, (normal(31, width), normal(31, width)))

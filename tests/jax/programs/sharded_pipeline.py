"""A pipeline of eight stages: micro-batches go from device to device by ppermute, gradients back."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

from common import arrays

STAGES, PARTS, ROWS, WIDTH = 8, 5, 3, 12


def forward(weights, x):
    """of one device: its stage; x: all micro-batches, of which the first stage takes one a turn"""
    stage = jax.lax.axis_index("stage")
    ring = [(i, (i + 1) % STAGES) for i in range(STAGES)]

    def turn(state, i):
        here, out = state
        here = jnp.where(stage == 0, x[jnp.minimum(i, PARTS - 1)], here)
        here = jnp.tanh(here @ weights[0])
        done = jnp.where((stage == STAGES - 1) & (i >= STAGES - 1), here, 0)
        out = jax.lax.dynamic_update_index_in_dim(out, done, jnp.maximum(i - STAGES + 1, 0), 0)
        return (jax.lax.ppermute(here, "stage", ring), out), None
    start = jax.lax.pcast((jnp.zeros((ROWS, WIDTH)), jnp.zeros((PARTS, ROWS, WIDTH))), ("stage",),
                          to="varying")
    (_, out), _ = jax.lax.scan(turn, start, jnp.arange(PARTS + STAGES - 1))
    return jax.lax.psum(out, "stage")


def program():
    normal, _ = arrays(23)
    mesh = Mesh(np.array(jax.devices()[:8]), ("stage",))
    run = jax.shard_map(forward, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P())

    def step(weights, x):
        value, gradient = jax.value_and_grad(lambda w: jnp.mean(run(w, x) ** 2))(weights)
        return weights - 0.5 * gradient, value
    cut = NamedSharding(mesh, P("stage"))
    return {"function": step, "arguments": (normal(STAGES, WIDTH, WIDTH, scale=0.4),
                                            normal(PARTS, ROWS, WIDTH)),
            "carry": 1, "steps": 2, "devices": 8, "in_shardings": (cut, NamedSharding(mesh, P())),
            "out_shardings": (cut, None)}

"""A mixture of experts with an expert on each of eight devices: tokens change places by all-to-all."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

from common import arrays

EXPERTS, TOKENS, CAPACITY, WIDTH, INNER = 8, 48, 3, 16, 24


def layer(x, gate, up, down):
    """of one device: its tokens, its expert"""
    score = jax.nn.softmax(x @ gate)
    expert = jnp.argmax(score, -1)
    chosen = jax.nn.one_hot(expert, EXPERTS)
    place = ((jnp.cumsum(chosen, 0) - 1) * chosen).sum(-1).astype(jnp.int32)
    slots = jnp.zeros((EXPERTS, CAPACITY, WIDTH)).at[expert, place].add(x, mode="drop")
    slots = jax.lax.all_to_all(slots, "expert", 0, 0, tiled=True)
    y = jax.nn.relu(slots.reshape(-1, WIDTH) @ up[0]) @ down[0]
    y = jax.lax.all_to_all(y.reshape(EXPERTS, CAPACITY, WIDTH), "expert", 0, 0, tiled=True)
    y = y.at[expert, place].get(mode="fill", fill_value=0) * score.max(-1, keepdims=True)
    return y, jax.lax.pmean(chosen.mean(0), "expert")


def program():
    normal, _ = arrays(22)
    mesh = Mesh(np.array(jax.devices()[:8]), ("expert",))
    run = jax.shard_map(layer, mesh=mesh, in_specs=(P("expert"), P(), P("expert"), P("expert")),
                        out_specs=(P("expert"), P()))
    cut, all_of_it = NamedSharding(mesh, P("expert")), NamedSharding(mesh, P())
    arguments = (normal(TOKENS, WIDTH), normal(WIDTH, EXPERTS), normal(EXPERTS, WIDTH, INNER),
                 normal(EXPERTS, INNER, WIDTH))
    return {"function": run, "arguments": arguments, "carry": 0, "steps": 1, "devices": 8,
            "in_shardings": (cut, all_of_it, cut, cut), "out_shardings": None}

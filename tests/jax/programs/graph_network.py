"""A network over a graph: messages along edges, summed and maximised at their nodes."""
import jax
import jax.numpy as jnp
import optax

from common import arrays, cross_entropy, training


def program():
    normal, whole = arrays(10)
    nodes, edges, width = 29, 71, 18
    parameters = [{"message": normal(2 * width, width, scale=0.2),
                   "self": normal(width, width, scale=0.2), "sum": normal(width, width, scale=0.1),
                   "most": normal(width, width, scale=0.1)} for _ in range(2)]
    parameters = {"layers": parameters, "out": normal(width, 4, scale=0.3)}

    def loss(p, batch):
        x, source, target, labels = batch
        for layer in p["layers"]:
            m = jax.nn.leaky_relu(jnp.concatenate([x[source], x[target]], -1) @ layer["message"])
            total = jax.ops.segment_sum(m, target, nodes)
            most = jax.ops.segment_max(m, target, nodes)
            most = jnp.where(jnp.isfinite(most), most, 0)
            x = jnp.tanh(x @ layer["self"] + total @ layer["sum"] + most @ layer["most"])
        return cross_entropy(x @ p["out"], labels)
    batch = (normal(nodes, width), whole(nodes, edges), whole(nodes, edges), whole(4, nodes))
    return training(loss, optax.adagrad(0.02), parameters, batch)

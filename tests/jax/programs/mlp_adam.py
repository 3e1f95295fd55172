"""A perceptron of three layers, trained by Adam with weight decay and clipped gradients."""
import jax
import optax

from common import arrays, cross_entropy, training


def program():
    normal, whole = arrays(1)
    widths = [52, 70, 33, 10]
    parameters = [(normal(i, o, scale=i ** -0.5), normal(o, scale=0.1))
                  for i, o in zip(widths, widths[1:])]

    def loss(parameters, batch):
        x, labels = batch
        for w, b in parameters[:-1]:
            x = jax.nn.gelu(x @ w + b)
        w, b = parameters[-1]
        return cross_entropy(x @ w + b, labels)

    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-3))
    return training(loss, optimizer, parameters, (normal(37, 52), whole(10, 37)))

"""Residual blocks with batch norms whose running averages are part of the state."""
import flax.linen as nn
import jax
import optax

from common import arrays, cross_entropy


class Block(nn.Module):
    width: int
    stride: int

    @nn.compact
    def __call__(self, x, train):
        def norm(y):
            return nn.BatchNorm(use_running_average=not train, momentum=0.9)(y)
        y = nn.relu(norm(nn.Conv(self.width, (3, 3), self.stride, use_bias=False)(x)))
        y = norm(nn.Conv(self.width, (3, 3), use_bias=False)(y))
        if x.shape != y.shape:
            x = norm(nn.Conv(self.width, (1, 1), self.stride, use_bias=False)(x))
        return nn.relu(x + y)


class Network(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.relu(nn.Conv(8, (3, 3))(x))
        for width, stride in [(8, 1), (16, 2), (24, 2)]:
            x = Block(width, stride)(x, train)
        return nn.Dense(5)(x.mean((1, 2)))


def program():
    normal, whole = arrays(3)
    network, x, labels = Network(), normal(6, 18, 18, 3), whole(5, 6)
    variables = network.init(jax.random.key(0), x, train=False)
    optimizer = optax.sgd(0.02, momentum=0.9)

    def step(state, batch):
        parameters, averages, slots = state

        def loss(parameters):
            logits, new = network.apply({"params": parameters, "batch_stats": averages}, batch[0],
                                        train=True, mutable=["batch_stats"])
            return cross_entropy(logits, batch[1]), new["batch_stats"]
        (value, averages), gradients = jax.value_and_grad(loss, has_aux=True)(parameters)
        updates, slots = optimizer.update(gradients, slots)
        return (optax.apply_updates(parameters, updates), averages, slots), value

    state = (variables["params"], variables["batch_stats"], optimizer.init(variables["params"]))
    return {"function": step, "arguments": (state, (x, labels)),
            "carry": len(jax.tree.leaves(state)), "steps": 20}

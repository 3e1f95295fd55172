"""A convolutional network of Flax with max and average pooling, trained by momentum."""
import flax.linen as nn
import jax
import optax

from common import arrays, cross_entropy, training


class Network(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(12, (5, 3), strides=(2, 1))(x))
        x = nn.max_pool(x, (3, 3), strides=(2, 2), padding="SAME")
        x = nn.relu(nn.Conv(20, (3, 3), kernel_dilation=(1, 2))(x))
        x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        return nn.Dense(7)(x.reshape(x.shape[0], -1))


def program():
    normal, whole = arrays(2)
    network, x = Network(), normal(9, 30, 22, 3)
    parameters = network.init(jax.random.key(0), x)

    def loss(parameters, batch):
        return cross_entropy(network.apply(parameters, batch[0]), batch[1])
    return training(loss, optax.sgd(0.004, momentum=0.9, nesterov=True), parameters,
                    (x, whole(7, 9)))

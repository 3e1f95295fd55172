"""The older way to all devices: pmap, with gradients that psum adds up; a model of straight lines."""
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

count = jax.local_device_count()
rng = np.random.default_rng(0)
true_w = rng.normal(size=(16, 4)).astype(np.float32)
w = jnp.broadcast_to(jnp.zeros((16, 4)), (count, 16, 4))


@partial(jax.pmap, axis_name="devices")
def step(w, x, y):
    def loss_of(w):
        return jnp.mean((jnp.dot(x, w, precision="highest") - y) ** 2)

    loss, gradient = jax.value_and_grad(loss_of)(w)
    return w - 0.1 * jax.lax.pmean(gradient, "devices"), jax.lax.pmean(loss, "devices")


losses = []
for i in range(20):
    x = rng.normal(size=(count, 32, 16)).astype(np.float32)
    w, loss = step(w, x, x @ true_w)
    losses.append(float(loss[0]))
same = bool((np.asarray(w) == np.asarray(w)[0]).all())
print(f"{count} devices, all with the same weights: {same}")
print("numbers", f"{same:d}", *[f"{loss:.6f}" for loss in losses])

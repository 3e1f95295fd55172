"""jax.checkpoint: a deep network whose inner values are computed again rather than kept, layers by
lax.scan; the gradients are those of the plain one."""
import jax
import jax.numpy as jnp
import numpy as np

LAYERS, WIDTH, BATCH = 6, 64, 32
rng = np.random.default_rng(0)
weights = (rng.normal(size=(LAYERS, WIDTH, WIDTH)) / np.sqrt(WIDTH)).astype(np.float32)
x = rng.normal(size=(BATCH, WIDTH)).astype(np.float32)
y = rng.normal(size=(BATCH, WIDTH)).astype(np.float32)


def layer(h, w):
    return jnp.tanh(jnp.dot(h, w, precision="highest")) + 0.1 * h


def loss_by(layer):
    def loss(weights):
        h, _ = jax.lax.scan(lambda h, w: (layer(h, w), None), x, weights)
        return jnp.mean((h - y) ** 2)
    return jax.jit(jax.value_and_grad(loss))


step, plain = loss_by(jax.checkpoint(layer)), loss_by(layer)
losses = []
difference = float(jnp.max(jnp.abs(step(weights)[1] - plain(weights)[1])))
for _ in range(10):
    loss, gradient = step(weights)
    weights = weights - 2.0 * gradient
    losses.append(float(loss))
print(f"gradients with and without differ by {difference:.1e} at most")
print("numbers", f"{difference < 1e-6:d}", *[f"{loss:.6f}" for loss in losses])

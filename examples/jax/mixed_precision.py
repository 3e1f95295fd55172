"""Mixed precision: products in bf16, weights and sums in f32, the loss scaled against underflow."""
import jax
import jax.numpy as jnp
import numpy as np
import optax

rng = np.random.default_rng(0)
centre = rng.normal(size=(10, 64)).astype(np.float32)
sizes = [(64, 128), (128, 128), (128, 10)]
weights = [(rng.normal(size=s) / np.sqrt(s[0])).astype(np.float32) for s in sizes]
optimizer = optax.sgd(0.1, momentum=0.9)
SCALE = 1024.0


def forward(weights, x):
    h = x.astype(jnp.bfloat16)
    for i, w in enumerate(weights):
        h = jnp.dot(h, w.astype(jnp.bfloat16), preferred_element_type=jnp.float32)
        if i < len(weights) - 1:
            h = jax.nn.relu(h).astype(jnp.bfloat16)
    return h


@jax.jit
def step(weights, state, x, y):
    def loss_of(weights):
        loss = optax.softmax_cross_entropy_with_integer_labels(forward(weights, x), y).mean()
        return SCALE * loss

    loss, gradients = jax.value_and_grad(loss_of)(weights)
    gradients = jax.tree.map(lambda g: g / SCALE, gradients)
    updates, state = optimizer.update(gradients, state)
    return loss / SCALE, optax.apply_updates(weights, updates), state


state = optimizer.init(weights)
losses = []
for _ in range(20):
    y = rng.integers(0, 10, 64).astype(np.int32)
    x = (centre[y] + 0.5 * rng.normal(size=(64, 64))).astype(np.float32)
    loss, weights, state = step(weights, state, x, y)
    losses.append(float(loss))
print(f"weights stay {weights[0].dtype}")
print("numbers", *[f"{loss:.6f}" for loss in losses])

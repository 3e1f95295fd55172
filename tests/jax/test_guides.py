"""The guides' networks as JAX's training steps and as our own Keras front end trains them."""
import os
import sys

os.environ["KERAS_BACKEND"] = "jax"
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "frameworks")]
import guides  # noqa: E402
import jax  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402


def export(model, epsilon, x, y, folder):
    optimizer = keras.optimizers.Adam(1e-3, epsilon=epsilon)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def loss(trainable, x, y):
        logits, _ = model.stateless_call(trainable, [], x, training=True)
        return loss_of(y, logits)

    def step(state, x, y):
        trainable, slots = state
        value, gradients = jax.value_and_grad(loss)(trainable, x, y)
        trainable, slots = optimizer.stateless_apply(slots, gradients, trainable)
        return value, (trainable, slots)

    state = ([v.value for v in model.trainable_variables], [v.value for v in optimizer.variables])
    exported = jax.export.export(jax.jit(step), platforms=["tpu"])(state, x, y)
    with open(f"{folder}/step", "wb") as f:
        f.write(exported.mlir_module_serialized)
    leaves = jax.tree.leaves((state, x, y))
    save_file({str(i): np.array(a, order="C") for i, a in enumerate(leaves)},
              f"{folder}/in.safetensors")
    count = len(jax.tree.leaves(state))
    return f"1-{count}:0-{count - 1}"


if __name__ == "__main__":
    sys.exit(guides.compare_all(export, epsilon=1e-7))

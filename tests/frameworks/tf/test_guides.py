"""The guides' networks as TensorFlow's training steps and as our own Keras front end trains them."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
from lowered import Lowered  # noqa: E402
import guides  # noqa: E402
import keras  # noqa: E402
import tensorflow as tf  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402


def export(model, epsilon, x, y, folder):
    optimizer = keras.optimizers.Adam(1e-3, epsilon=epsilon)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    lowered = Lowered(step, [tf.constant(x), tf.constant(y)])
    lowered.write(f"{folder}/step", "hlo_serialized")
    save_file({str(i): v for i, v in enumerate(lowered.values())}, f"{folder}/in.safetensors")
    return lowered.carry()


if __name__ == "__main__":
    sys.exit(guides.compare_all(export, epsilon=1e-7))

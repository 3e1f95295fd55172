"""The CNN of the TPU guide, in Keras 3 on JAX, data-parallel over all devices.

    systole jax --tpu v2-8 examples/jax/mnist_keras.py --data MNIST --epochs 1
"""
import argparse
import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import digits
import keras
from keras import layers

parser = argparse.ArgumentParser()
parser.add_argument("--data", help="folder of MNIST's files, or an .npz; without it digits are drawn")
parser.add_argument("--batch", type=int, default=64, help="images of a step, over all devices")
parser.add_argument("--steps", type=int, help="of an epoch; without it all of the data")
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--filters", type=int, default=256, help="of both convolutions")
args = parser.parse_args()

keras.utils.set_random_seed(1)
devices = keras.distribution.list_devices()
keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
(x, y), (x_test, y_test) = digits.load(args.data)
x, x_test = x[..., None], x_test[..., None]
if args.steps:
    x, y = x[:args.batch * args.steps], y[:args.batch * args.steps]
    x_test, y_test = x_test[:4 * args.batch], y_test[:4 * args.batch]

model = keras.Sequential([
    keras.Input((28, 28, 1)),
    layers.Conv2D(args.filters, 3, activation="relu"),
    layers.Conv2D(args.filters, 3, activation="relu"),
    layers.Flatten(),
    layers.Dense(256, activation="relu"),
    layers.Dense(128, activation="relu"),
    layers.Dense(10)])
model.compile(optimizer="adam", metrics=["sparse_categorical_accuracy"],
              loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))


class Losses(keras.callbacks.Callback):
    """the mean loss so far behind each step"""

    def __init__(self):
        super().__init__()
        self.losses = []

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(float(logs["loss"]))


losses = Losses()
print(f"{len(devices)} devices: {devices[0]} ...")
model.fit(x, y, batch_size=args.batch, epochs=args.epochs, shuffle=False, verbose=2, callbacks=[losses])
loss, accuracy = model.evaluate(x_test, y_test, batch_size=args.batch, verbose=2)
print("numbers", *[f"{n:.6f}" for n in [*losses.losses[-20:], loss]])
print(f"accuracy {accuracy:.4f}")

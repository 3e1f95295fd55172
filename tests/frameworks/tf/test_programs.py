"""Small programs of TensorFlow and Keras: layers, loops, dynamic shapes, transforms, training steps."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
from lowered import Lowered  # noqa: E402
import held  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

RNG = np.random.default_rng(0)
# raw MLIR bytecode has no promise of its format from one version of MLIR to the next
FORMS = ["hlo_serialized", "stablehlo"]


def normal(*shape):
    return tf.constant(RNG.normal(size=shape).astype(np.float32))


def train(model, x, y, optimizer):
    model(x)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return step, [x, tf.constant(y)]


def recurrent():
    model = keras.Sequential([layers.Bidirectional(layers.LSTM(6, return_sequences=True)),
                              layers.GRU(5), layers.Dense(3)])
    return train(model, normal(2, 7, 4), [1, 2], keras.optimizers.RMSprop(1e-3, epsilon=1e-2))


def attention():
    x = keras.Input((6, 8))
    y = layers.MultiHeadAttention(2, 4, use_bias=False)(x, x, use_causal_mask=True)
    model = keras.Model(x, layers.Dense(5, activation="gelu")(layers.LayerNormalization()(x + y)))
    return train(model, normal(2, 6, 8), RNG.integers(0, 5, (2, 6)), keras.optimizers.SGD(0.1))


def volumes():
    model = keras.Sequential([layers.Conv3D(4, 3, padding="same", activation="relu"),
                              layers.MaxPooling3D(2), layers.Conv3DTranspose(2, 2, strides=2),
                              layers.GlobalAveragePooling3D(), layers.Dense(3)])
    return train(model, normal(2, 4, 4, 4, 2), [0, 2], keras.optimizers.SGD(0.1, momentum=0.9))


def masked():
    def f(x):
        some = tf.boolean_mask(x, x[:, 0] > 0)
        return tf.reduce_sum(some), tf.size(some), tf.reduce_sum(tf.where(x > 0)), tf.reduce_mean(some, 0)
    return f, [normal(9, 4)]


def loops():
    def f(x, n):
        _, grown = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 0.9 + 1.0), (0, x))
        rows = tf.TensorArray(tf.float32, 4, element_shape=(3,))
        for i in tf.range(4):
            rows = rows.write(i, x[i] * tf.cast(i, tf.float32))
        chosen = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x), lambda: tf.cos(x))
        return grown, rows.stack(), chosen, tf.scan(lambda a, b: a + b, x)
    return f, [normal(4, 3), tf.constant(5)]


def spectra():
    def f(x):
        return tf.abs(tf.signal.stft(x, 16, 8)), tf.signal.dct(x), tf.math.real(tf.signal.ifft(
            tf.signal.fft(tf.cast(x, tf.complex64))))
    return f, [normal(2, 64)]


def wide():
    def f(x, y):
        return x * y, x // y, x % y, tf.sort(x), tf.reduce_sum(x), tf.cast(x, tf.float32)
    return f, [tf.constant(RNG.integers(-2**40, 2**40, 8)), tf.constant(RNG.integers(1, 2**33, 8))]


def solved():
    def f(a, b):
        s = tf.matmul(a, a, transpose_b=True) + 3 * tf.eye(5)
        return tf.linalg.cholesky(s), tf.linalg.solve(s, b), tf.linalg.eigvalsh(s)
    return f, [normal(5, 5), normal(5, 2)]


def draws():
    def f(seed):
        return (tf.random.stateless_uniform((5,), seed, 0, 100, tf.int32),
                tf.random.stateless_normal((7,), seed), tf.random.stateless_uniform((3,), seed, alg="threefry"))
    return f, [tf.constant([3, 9])]


def export(program, folder, forms):
    function, arguments = program()
    lowered = Lowered(function, arguments)
    for form in forms:
        lowered.write(f"{folder}/{form}", form)
    save_file({str(i): v for i, v in enumerate(lowered.values())}, f"{folder}/in.safetensors")
    results = tf.nest.flatten(tf.function(function, jit_compile=True)(*arguments))
    results += [lowered.parameters[p] for _, p in lowered.aliases]
    save_file({str(i): np.array(r.numpy(), order="C") for i, r in enumerate(results)},
              f"{folder}/out.safetensors")


PROGRAMS = [recurrent, attention, volumes, masked, loops, spectra, wide, solved, draws]

if __name__ == "__main__":
    keras.utils.set_random_seed(1)
    sys.exit(held.hold({p.__name__: p for p in PROGRAMS}, export, FORMS))

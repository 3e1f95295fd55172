"""Layers as Keras writes and computes them: each model's JSON goes through the reader, and its
output on the same weights and inputs must be Keras's own. Sizes are drawn; the seed is printed, and
SEED=n draws them again."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

os.environ["KERAS_BACKEND"] = "jax"
import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras.src.applications.convnext import LayerScale  # noqa: E402

VALUES = os.environ.get("KERAS_VALUES", "build/tests/jax/keras_values")
TOLERANCE = 5e-5                        # of the largest output: Keras computes in float32
L = keras.layers
SEED = int(os.environ.get("SEED", random.randrange(10**6)))
draw = random.Random(SEED)


def chain(shape, *layers):
    return keras.Sequential([keras.Input(shape), *layers])


def one_of(*choices):
    return draw.choice(choices)


def windows_1d():
    steps, channels = draw.randint(6, 12), draw.randint(1, 4)
    size, stride = draw.randint(1, 5), draw.randint(1, 4)
    how = {"strides": stride, "padding": one_of("valid", "same")}
    causal = {"padding": one_of("valid", "same", "causal")}
    if draw.random() < 0.5:
        causal["strides"] = stride
    else:
        causal["dilation_rate"] = one_of(1, 2) if steps > 2 * size else 1
    shape = (steps, channels)
    yield chain(shape, L.Conv1D(draw.randint(1, 4), size, activation="tanh", **causal))
    yield chain(shape, L.DepthwiseConv1D(size, depth_multiplier=one_of(1, 3), **how))
    yield chain(shape, L.SeparableConv1D(3, size, depth_multiplier=one_of(1, 2), **how))
    yield chain(shape, L.Conv1DTranspose(2, size, use_bias=one_of(True, False), **how))
    yield chain(shape, L.MaxPooling1D(size, **how))
    yield chain(shape, L.AveragePooling1D(size, **how))
    yield chain(shape, one_of(L.GlobalMaxPooling1D, L.GlobalAveragePooling1D)())
    yield chain(shape, L.ZeroPadding1D((draw.randint(0, 2), draw.randint(0, 2))))
    yield chain(shape, L.Cropping1D((draw.randint(0, 2), draw.randint(0, 2))))
    yield chain(shape, L.UpSampling1D(draw.randint(1, 3)))


def windows_2d():
    shape = (draw.randint(5, 9), draw.randint(5, 9), draw.randint(1, 4))
    size = (draw.randint(1, 5), draw.randint(1, 5))
    stride = draw.randint(1, 3)
    how = {"strides": stride, "padding": one_of("valid", "same")}
    apart = {"strides": (draw.randint(1, 4), draw.randint(1, 4)), "padding": how["padding"]}
    yield chain(shape, L.Conv2D(draw.randint(1, 4), size, **apart))
    yield chain(shape, L.DepthwiseConv2D(size, depth_multiplier=one_of(1, 2), **how))
    yield chain(shape, L.SeparableConv2D(3, size, depth_multiplier=one_of(1, 2), **how))
    yield chain(shape, L.Conv2DTranspose(2, size, **apart))
    yield chain(shape, L.MaxPooling2D(size, **apart))
    yield chain(shape, L.AveragePooling2D(size, **apart))
    yield chain(shape, L.ZeroPadding2D(((0, 2), (1, 0))))
    yield chain(shape, L.Cropping2D(((1, 2), (0, draw.randint(0, 3)))))
    yield chain(shape, L.UpSampling2D((draw.randint(1, 3), draw.randint(1, 3)),
                                      interpolation=one_of("nearest", "bilinear")))
    yield chain(shape, L.Resizing(draw.randint(2, 14), draw.randint(2, 14),
                                  interpolation=one_of("nearest", "bilinear")))


def recurrent():
    shape = (draw.randint(1, 6), draw.randint(1, 4))
    units = draw.randint(1, 5)
    yield chain(shape, L.SimpleRNN(units, return_sequences=one_of(True, False)))
    yield chain(shape, L.LSTM(units, return_sequences=True, go_backwards=one_of(True, False)),
                L.LSTM(2, unit_forget_bias=False, recurrent_activation="hard_sigmoid"))
    yield chain(shape, L.GRU(units, return_sequences=True, use_bias=one_of(True, False)),
                L.GRU(3, reset_after=False))
    inner = one_of(L.LSTM, L.GRU, L.SimpleRNN)(units, return_sequences=one_of(True, False))
    yield chain(shape, L.Bidirectional(inner, merge_mode=one_of("concat", "sum", "mul", "ave")))
    yield chain((3, 6, 6, 2), L.TimeDistributed(L.Conv2D(3, 2)), L.TimeDistributed(L.Flatten()),
                L.GRU(2))


def elementwise():
    shape = (draw.randint(2, 5), draw.randint(2, 5), 6)
    yield chain(shape, L.GroupNormalization(one_of(1, 2, 3, -1), epsilon=0.01))
    yield chain(shape, L.LayerNormalization())
    yield chain(shape, LayerScale(draw.uniform(-2, 2), shape[-1]))
    yield chain(shape, L.BatchNormalization())
    yield chain(shape, L.RMSNormalization(), L.UnitNormalization())
    yield chain(shape, L.Normalization(mean=[1.0, 2, 3, 4, 5, 6], variance=[4.0, 1, 2, 3, 4, 5],
                                       invert=one_of(True, False)))
    yield chain(shape, L.Rescaling([1.0, 2, 3, 4, 5, 6], offset=0.5))
    yield chain(shape, L.PReLU(shared_axes=one_of(None, [1], [1, 2])))
    yield chain(shape, one_of(L.ReLU(6, 0.1, 0.2), L.LeakyReLU(0.2), L.ELU(0.7), L.Softmax()))
    yield chain((4,), L.RepeatVector(3), L.Permute((2, 1)), L.Reshape((2, -1)), L.Identity())


def graphs():
    x = keras.Input((4, 5, 3))
    squeezed = L.GlobalAveragePooling2D(keepdims=True)(x)
    yield keras.Model(x, L.Multiply()([x, L.Dense(3, activation="sigmoid")(squeezed)]))
    x, y = keras.Input((4,)), keras.Input((3, 4))
    yield keras.Model([x, y], one_of(L.Add, L.Maximum, L.Average)()([x, y]))
    inner = chain((4,), L.Dense(4, activation="tanh"))
    x = keras.Input((4,))
    yield keras.Model(x, L.Concatenate()([inner(x), inner(inner(x))]))
    x = keras.Input((4, 3))
    ops = keras.ops
    yield keras.Model(x, ops.reshape(ops.relu(2 * x - 1) / 3.0 + ops.sigmoid(1 - x), (-1, 12)))
    a, b = keras.Input((4,)), keras.Input((4,))
    two = keras.Model([a, b], [L.Add()([a, b]), L.Multiply()([a, b])])
    x = keras.Input((4,))
    yield keras.Model(x, L.Subtract()(two([x, L.Dense(4)(x)])))
    x = keras.Input((5, 6))
    yield keras.Model(x, L.MultiHeadAttention(2, 3)(x, x))


def values(model):
    """What keras_values prints: variables by name, inputs, output."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(model.to_json())
        file.flush()
        run = subprocess.run([VALUES, file.name], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise ValueError(run.stderr.strip() or f"exit status {run.returncode}")
    lines = [line.split(" ") for line in run.stdout.splitlines()]
    found = {kind: [(name, np.array(v, float)) for what, name, *v in lines if what == kind]
             for kind in ("VAR", "IN", "OUT")}
    return dict(found["VAR"]), [v for _, v in found["IN"]], found["OUT"][0][1]


def compare(model):
    variables, inputs, output = values(model)
    if len(variables) != len(model.weights):
        raise ValueError(f"variables are {list(variables)}, not {[w.path for w in model.weights]}")
    for weight in model.weights:
        path = re.sub(r"/variable(_\d+)?$", "/gamma", weight.path)      # LayerScale names none
        names = [name for name in variables if path.endswith(name)]
        if len(names) != 1:
            raise ValueError(f"{weight.path} is none of {list(variables)}")
        weight.assign(variables[names[0]].reshape(weight.shape))
    batch = [v.reshape((2,) + tuple(x.shape[1:])) for v, x in zip(inputs, model.inputs)]
    right = np.array(model(batch if len(batch) > 1 else batch[0], training=False)).ravel()
    if right.shape != output.shape:
        raise ValueError(f"the output has {output.size} elements, not {right.size}")
    off = np.abs(right - output).max() / max(np.abs(right).max(), 1e-9)
    if not off <= TOLERANCE:
        raise ValueError(f"the output is {off:.3g} of its largest element off")


def main():
    failures = []
    count = 0
    for _ in range(3):
        for family in (windows_1d, windows_2d, recurrent, elementwise, graphs):
            for model in family():
                count += 1
                try:
                    compare(model)
                except ValueError as mistake:
                    classes = [layer["class_name"] for layer in
                               json.loads(model.to_json())["config"]["layers"]]
                    failures.append(f"{classes}: {mistake}")
    print(f"SEED={SEED}: {count} models, {len(failures)} differ")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

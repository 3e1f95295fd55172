"""Layers as Keras writes and computes them: each model's JSON goes through the reader, and its
outputs and gradients on the same weights and inputs must be Keras's own. Sizes are drawn; the seed
is printed, and SEED=n draws them again."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

os.environ["KERAS_BACKEND"] = "jax"
import jax  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import seeds  # noqa: E402
from keras.src.applications.convnext import LayerScale  # noqa: E402

VALUES = os.environ.get("KERAS_VALUES", "build/tests/jax/keras_values")
TOLERANCE = 5e-5                        # of the largest output: Keras computes in float32
L = keras.layers
SEED = seeds.seed()
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
    yield chain(shape, L.Conv2DTranspose(2, size, output_padding=draw.randint(0, stride - 1), **how))
    yield chain(shape, L.MaxPooling2D(size, **apart))
    yield chain(shape, L.AveragePooling2D(size, **apart))
    yield chain(shape, L.ZeroPadding2D(((0, 2), (1, 0))))
    yield chain(shape, L.Cropping2D(((1, 2), (0, draw.randint(0, 3)))))
    yield chain(shape, L.UpSampling2D((draw.randint(1, 3), draw.randint(1, 3)),
                                      interpolation=one_of("nearest", "bilinear")))
    yield chain(shape, L.Resizing(draw.randint(2, 14), draw.randint(2, 14),
                                  interpolation=one_of("nearest", "bilinear")))


def windows_3d():
    shape = (draw.randint(3, 5), draw.randint(3, 6), draw.randint(3, 5), draw.randint(1, 3))
    size = tuple(draw.randint(1, 3) for _ in range(3))
    how = {"strides": draw.randint(1, 2), "padding": one_of("valid", "same")}
    yield chain(shape, L.Conv3D(draw.randint(1, 3), size, activation="tanh", **how))
    yield chain(shape, L.Conv3D(2, 2, dilation_rate=(1, 2, 1), padding="same"))
    yield chain(shape, L.Conv3DTranspose(2, size, **how))
    yield chain(shape, one_of(L.MaxPooling3D, L.AveragePooling3D)(size, **how))
    yield chain(shape, one_of(L.GlobalMaxPooling3D, L.GlobalAveragePooling3D)(
        keepdims=one_of(True, False)))
    yield chain(shape, L.ZeroPadding3D(((0, 1), (2, 0), (1, 1))), L.Cropping3D((0, 1, (1, 0))),
                L.UpSampling3D((1, 2, draw.randint(1, 3))))


def sizes():
    """Images of other sizes, and windows cut to a number of them."""
    shape = (draw.randint(3, 9), draw.randint(3, 9), 2)
    method = one_of("bicubic", "lanczos3", "lanczos5", "bilinear")
    yield chain(shape, L.Resizing(draw.randint(2, 14), draw.randint(2, 14), interpolation=method,
                                  antialias=one_of(True, False)))
    yield chain(shape, L.Resizing(draw.randint(2, 9), draw.randint(2, 9), interpolation=method,
                                  **one_of({"crop_to_aspect_ratio": True},
                                           {"pad_to_aspect_ratio": True, "fill_value": 0.5})))
    yield chain(shape, L.UpSampling2D((draw.randint(1, 3), 2), interpolation=method))
    to = tuple(draw.randint(1, 5) for _ in range(3))
    yield chain(shape, one_of(L.AdaptiveMaxPooling2D, L.AdaptiveAveragePooling2D)(to[:2]))
    yield chain(shape[1:], one_of(L.AdaptiveMaxPooling1D, L.AdaptiveAveragePooling1D)(to[0]))
    yield chain((draw.randint(2, 5), *shape), one_of(L.AdaptiveMaxPooling3D,
                                                     L.AdaptiveAveragePooling3D)(to))


def channels_first():
    """Keras computes most of these on the CPU with channels last alone; their values are those."""
    shape = (draw.randint(2, 4), draw.randint(5, 7), draw.randint(5, 7))
    turned = (shape[1], shape[2], shape[0])
    for make in (lambda f: L.Conv2D(3, 2, data_format=f), lambda f: L.MaxPooling2D(2, data_format=f),
                 lambda f: L.GlobalAveragePooling2D(data_format=f),
                 lambda f: L.ZeroPadding2D(1, data_format=f), lambda f: L.Flatten(data_format=f),
                 lambda f: L.UpSampling2D(2, data_format=f)):
        same = chain(turned, make("channels_last"))
        if len(same.output_shape) == 4:
            same.add(L.Permute((3, 1, 2)))
        yield chain(shape, make("channels_first")), chain(shape, L.Permute((2, 3, 1)), *same.layers)
    yield chain(shape, L.BatchNormalization(axis=1), L.LayerNormalization(axis=2), L.Softmax(axis=1))


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
    cells = [one_of(L.LSTMCell, L.GRUCell, L.SimpleRNNCell)(draw.randint(1, 4)) for _ in range(2)]
    yield chain(shape, L.RNN(cells[0], return_sequences=True), L.RNN(cells[1], go_backwards=True))
    yield chain(shape, L.RNN([L.LSTMCell(units), L.GRUCell(2), L.SimpleRNNCell(3)],
                             return_sequences=one_of(True, False)))
    x = keras.Input(shape)
    yield keras.Model(x, one_of(L.LSTM, L.GRU)(units, return_state=True)(x))
    yield keras.Model(x, L.Bidirectional(L.LSTM(2, return_state=True, return_sequences=True))(x))
    for state in (False, True):
        inner = one_of(L.LSTM, L.GRU)(2, return_sequences=True, return_state=state)
        yield keras.Model(x, L.Bidirectional(inner, merge_mode=None)(x))
    states = L.LSTM(units, return_state=True)(x)[1:]
    y = keras.Input((2, 3))
    yield keras.Model([x, y], L.LSTM(units, return_sequences=True)(y, initial_state=states))
    steps = (draw.randint(1, 3), 5, 4, 2)
    how = {"padding": one_of("valid", "same"), "strides": one_of(1, 2)}
    yield chain(steps, L.ConvLSTM2D(2, 2, return_sequences=one_of(True, False), **how))
    yield chain((2, 6, 2), L.ConvLSTM1D(2, 3, return_sequences=True, go_backwards=True, **how))


def masks():
    steps = draw.randint(3, 6)
    tokens = keras.Input((steps,), dtype="int32")
    x = L.Embedding(7, 4, mask_zero=True)(tokens)
    kind = one_of(L.LSTM, L.GRU, L.SimpleRNN)
    yield keras.Model(tokens, kind(3)(kind(2, return_sequences=True)(L.Dense(3)(x))))
    yield keras.Model(tokens, L.Bidirectional(kind(3, return_sequences=one_of(True, False)))(x))
    both = L.Bidirectional(kind(2, return_sequences=True), merge_mode=None)(x)
    yield keras.Model(tokens, kind(3)(L.Subtract()(both)))
    yield keras.Model(tokens, L.GlobalAveragePooling1D()(L.Dropout(0.5)(x)))
    yield keras.Model(tokens, L.MultiHeadAttention(2, 3)(x, x))
    yield keras.Model(tokens, L.Attention()([x, L.Dense(4)(x)]))
    yield keras.Model(tokens, kind(2)(L.Concatenate()([x, L.LayerNormalization()(x)])))
    yield keras.Model(tokens, kind(2)(L.Add()([x, L.Dense(4)(x)])))
    yield chain((steps,), L.Embedding(5, 3, mask_zero=True), kind(2, return_sequences=True),
                L.TimeDistributed(L.Dense(2)), kind(2, go_backwards=True))
    values = keras.Input((steps, 3))
    turned = L.ReLU()(values)           # zeros here and there
    yield keras.Model(values, kind(2)(L.Masking()(L.Multiply()([turned, L.Dense(1, activation=(
        "relu"))(values)]))))


def attention():
    query = keras.Input((draw.randint(2, 5), 4))
    value = keras.Input((draw.randint(2, 5), 4))
    causal = {"use_causal_mask": one_of(True, False)}
    yield keras.Model([query, value], L.Attention(
        use_scale=one_of(True, False), score_mode=one_of("dot", "concat"))([query, value], **causal))
    yield keras.Model([query, value], L.AdditiveAttention(
        use_scale=one_of(True, False))([query, value, value], **causal))
    yield keras.Model([query, value], L.GroupQueryAttention(
        3, 4, one_of(1, 2, 4), use_gate=one_of(True, False), use_bias=one_of(True, False))(
            query, value, **causal))
    yield keras.Model([query, value], L.MultiHeadAttention(
        2, 3, **one_of({}, {"value_dim": 5, "dropout": 0.1}), output_shape=one_of(None, 6),
        use_gate=one_of(True, False),
        sliding_window=one_of(None, 2))(query, value, **causal))
    pairs = keras.Input(one_of((query.shape[1], value.shape[1]), (1, value.shape[1]), (2, 1, value.shape[1])))
    yield keras.Model([query, value, pairs], L.MultiHeadAttention(2, 3)(
        query, value, attention_mask=pairs > -1))
    yield keras.Model(query, L.MultiHeadAttention(2, 3)(query, query, attention_mask=keras.ops.matmul(
        query, keras.ops.transpose(query, (0, 2, 1))) > 0, use_causal_mask=True))
    yield keras.Model([query, value], L.MultiHeadAttention(2, 3)(
        query, value, return_attention_scores=True))
    rows, columns = draw.randint(2, 4), draw.randint(1, 4)
    pixels, others = keras.Input((rows, columns, 4)), keras.Input((rows, draw.randint(1, 4), 5))
    yield keras.Model(pixels, L.MultiHeadAttention(2, 3, attention_axes=one_of(
        None, 1, (2,), (1, 2), -2))(pixels, pixels))
    yield keras.Model([pixels, others], L.MultiHeadAttention(
        3, 2, attention_axes=2, use_gate=one_of(True, False))(pixels, others))
    yield keras.Model([query, value], L.Attention()([query, value], return_attention_scores=True))


def products():
    a, b, c = (draw.randint(2, 4) for _ in range(3))
    yield chain((a, b), L.EinsumDense("abc,cd->abd", (None, c), bias_axes="d", activation="relu"))
    yield chain((a, b), L.EinsumDense("...x,xy->...y", output_shape=c, bias_axes="y"))
    yield chain((a, b), L.EinsumDense("abc,bd->adc", output_shape=(c, b), bias_axes="d"))
    yield chain((a, b), L.EinsumDense("abc,cde->abde", (a, 2, c), bias_axes="de"))
    yield chain((a, b, c), L.EinsumDense("abcd,cde->abce", output_shape=(a, b, 2)))
    x, y = keras.Input((a, b)), keras.Input((c, b))
    yield keras.Model([x, y], L.Dot(axes=2, normalize=one_of(True, False))([x, y]))
    z = keras.Input((b, c))
    yield keras.Model([x, z], L.Dot(axes=(2, 1))([x, z]))
    u, v = keras.Input((a,)), keras.Input((a,))
    yield keras.Model([u, v], L.Dot(axes=one_of(1, -1), normalize=True)([u, v]))


def preprocessing():
    shape = (draw.randint(4, 7), draw.randint(4, 7), 2)
    yield chain(shape, L.CenterCrop(draw.randint(2, 8), draw.randint(2, 8)))
    yield chain(shape, L.RandomFlip(), L.RandomZoom(0.1), L.RandomRotation(0.2),
                L.RandomTranslation(0.1, 0.2), L.RandomContrast(0.1), L.RandomBrightness(0.3),
                L.RandomShear(0.3, 0.1))
    yield chain((1,), L.Discretization([-0.5, 0.0, 0.25], output_mode="one_hot"))
    yield chain((3,), L.Discretization([-0.5, 0.0, 0.25], output_mode=one_of("int", "multi_hot",
                                                                             "count")))
    whole = keras.Input((3,), dtype="int32")
    yield keras.Model(whole, L.CategoryEncoding(5, output_mode=one_of("multi_hot", "count",
                                                                      "one_hot"))(whole))


def noise():
    yield chain((4, 3), L.GaussianNoise(0.5), L.GaussianDropout(0.5), L.AlphaDropout(0.5),
                L.ActivityRegularization(0.1), L.Dense(2))


def augmented():
    """With nothing left to chance, as in training. 0.31 and 0.21 take no pixel of these sizes to the
    middle of two, where the rounding of a sum would choose the nearest one."""
    shape = (draw.randint(4, 8), draw.randint(4, 8), 2)
    how = {"fill_mode": one_of("reflect", "wrap", "constant", "nearest"), "fill_value": 0.5,
           "interpolation": one_of("bilinear", "bilinear", "nearest")}
    at = draw.uniform(-0.4, 0.4)
    yield chain(shape, L.RandomTranslation((at, at), (0.31, 0.31), **how))
    yield chain(shape, L.RandomRotation((at, at), **how))
    yield chain(shape, L.RandomZoom((at, at), one_of(None, (0.21, 0.21)), **how))
    yield chain(shape, L.RandomBrightness((at, at), value_range=(-1, 1)))




def spectral():
    shape = (draw.randint(3, 6), draw.randint(3, 6), 3)
    how = {"power_iterations": one_of(1, 2, 3)}
    yield chain(shape, L.SpectralNormalization(L.Conv2D(4, 2, activation="tanh"), **how),
                L.SpectralNormalization(L.DepthwiseConv2D(2)), L.Flatten(),
                L.SpectralNormalization(L.Dense(3, use_bias=one_of(True, False))))
    yield chain(shape, L.SpectralNormalization(L.Conv2DTranspose(2, 2, strides=2), **how))


def elementwise():
    shape = (draw.randint(2, 5), draw.randint(2, 5), 6)
    yield chain(shape, L.GroupNormalization(one_of(1, 2, 3, -1), epsilon=0.01))
    yield chain(shape, L.LayerNormalization())
    yield chain(shape, L.LayerNormalization(axis=one_of([2, 3], [-1, -2, -3])))
    yield chain(shape, LayerScale(draw.uniform(-2, 2), shape[-1]))
    yield chain(shape, L.BatchNormalization())
    yield chain(shape, L.RMSNormalization(), L.UnitNormalization())
    yield chain(shape, L.Normalization(mean=[1.0, 2, 3, 4, 5, 6], variance=[4.0, 1, 2, 3, 4, 5],
                                       invert=one_of(True, False)))
    yield chain(shape, L.Normalization(axis=None, mean=0.3, variance=1.7))
    yield chain(shape, L.Normalization(axis=one_of((1, 3), (3, -3)), mean=np.arange(6.0 * shape[0]).reshape(
        shape[0], 6), variance=np.linspace(1, 2, 6 * shape[0]).reshape(shape[0], 6)))
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


def values(model, *how):
    """What keras_values prints: variables and gradients by name, inputs, outputs."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(model.to_json())
        file.flush()
        run = subprocess.run([VALUES, file.name, *how], capture_output=True, text=True,
                             check=False)
    if run.returncode != 0:
        raise ValueError(run.stderr.strip() or f"exit status {run.returncode}")
    lines = [line.split(" ") for line in run.stdout.splitlines()]
    found = {kind: [(name, np.array(v, float)) for what, name, *v in lines if what == kind]
             for kind in ("VAR", "IN", "OUT", "GRAD")}
    return (dict(found["VAR"]), [v for _, v in found["IN"]], [v for _, v in found["OUT"]],
            dict(found["GRAD"]))


def assign(model, variables):
    """The name of each weight, which now has the variable's values."""
    if len(variables) != len(model.weights):
        raise ValueError(f"variables are {list(variables)}, not {[w.path for w in model.weights]}")
    names = {}
    for weight in model.weights:
        path = re.sub(r"/variable(_\d+)?$", "/gamma", weight.path)      # LayerScale names none
        near = [name for name in variables if path.endswith(name)]
        if len(near) != 1:
            raise ValueError(f"{weight.path} is none of {list(variables)}")
        names[weight.path] = near[0]
        weight.assign(variables[near[0]].reshape(weight.shape))
    return names


def check(what, is_, right, largest=1e-9):
    if right.shape != is_.shape:
        raise ValueError(f"{what} has {is_.size} elements, not {right.size}")
    off = np.abs(right - is_).max(initial=0) / max(np.abs(right).max(initial=0), largest)
    if not off <= TOLERANCE:
        raise ValueError(f"{what} is {off:.3g} of its largest element off")


def flat(outputs):
    return [np.array(v, float).ravel() for v in keras.tree.flatten(outputs)]


def gradients(model, batch, training=False):
    """By weight, of the first output's sum, each element times the sine of its place."""
    trained = [v.value for v in model.trainable_variables]
    others = [v.value for v in model.non_trainable_variables]

    def weighted(trained):
        outputs, _ = model.stateless_call(trained, others, batch, training=training)
        y = keras.tree.flatten(outputs)[0].ravel()
        return (y * np.sin(np.arange(y.size, dtype="float32") + 1)).sum()
    return jax.grad(weighted)(trained)


def compare(model, alike=None, training=False):
    """`alike`: another model that computes the same, where Keras cannot run this one."""
    variables, inputs, outputs, slopes = values(model, *(["training"] if training else []))
    names = assign(model, variables)
    batch = [v.reshape((2,) + tuple(x.shape[1:])) for v, x in zip(inputs, model.inputs)]
    batch = batch if len(batch) > 1 else batch[0]
    if alike:
        alike.set_weights([w.numpy() for w in model.weights])
    state = [w.numpy() for w in model.weights]
    right = flat((alike or model)(batch, training=training))
    model.set_weights(state)            # which training may change
    if len(right) != len(outputs):
        raise ValueError(f"there are {len(outputs)} outputs, not {len(right)}")
    for is_, want in zip(outputs, right):
        check("the output", is_, want)
    if alike:
        return
    wanted = [flat(want)[0] for want in gradients(model, batch, training)]
    largest = max((np.abs(want).max() for want in wanted), default=0)   # some are 0 but for rounding
    for variable, want in zip(model.trainable_variables, wanted):
        check(f"the gradient of {variable.path}", slopes[names[variable.path]], want, largest)


FAMILIES = (windows_1d, windows_2d, windows_3d, sizes, channels_first, recurrent, masks, attention, products,
            elementwise, preprocessing, noise, augmented, spectral, graphs)


def main():
    failures = []
    count = 0
    for _ in range(int(os.environ.get("ROUNDS", "3"))):
        for family in FAMILIES:
            for model in family():
                model, alike = model if isinstance(model, tuple) else (model, None)
                count += 1
                try:
                    compare(model, alike, training=family in (augmented, spectral))
                except ValueError as mistake:
                    classes = [layer["class_name"] for layer in
                               json.loads(model.to_json())["config"]["layers"]]
                    failures.append(f"{classes}: {mistake}")
    print(f"SEED={SEED}: {count} models, {len(failures)} differ")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

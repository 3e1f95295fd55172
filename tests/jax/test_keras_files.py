"""Files between Keras and systole: weights and models that Keras wrote are read, and what systole
writes is read by Keras; predictions and evaluations are Keras's own, and so is the table of
model.summary(). Sizes and weights are drawn; the seed is printed, and SEED=n draws them again."""
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings

os.environ["KERAS_BACKEND"] = "jax"
os.environ["COLUMNS"] = "400"           # of the table that model.summary() prints
warnings.filterwarnings("ignore")
import keras  # noqa: E402
import numpy as np  # noqa: E402
import seeds  # noqa: E402

SYSTOLE = os.environ.get("SYSTOLE", "./systole")
TOLERANCE = 1e-4                        # of the largest value: products of six passes, f32 sums
L = keras.layers
SEED = seeds.seed()
draw = random.Random(SEED)
numbers = np.random.default_rng(SEED)
work = tempfile.TemporaryDirectory()


def path(name):
    return os.path.join(work.name, name)


def cnn():
    side, classes = draw.randint(6, 10), draw.randint(2, 5)
    model = keras.Sequential([
        keras.Input((side, side, 2)), L.Conv2D(draw.randint(2, 5), 3, activation="relu"),
        L.BatchNormalization(), L.SeparableConv2D(3, 2, padding="same"), L.MaxPooling2D(2),
        L.Flatten(), L.Dropout(0.3), L.Dense(classes, activation="softmax")])
    return model, numbers.normal(size=(29, side, side, 2)), classes


def lstm():
    steps, features, classes = draw.randint(2, 5), draw.randint(1, 4), draw.randint(2, 5)
    model = keras.Sequential([
        keras.Input((steps, features)), L.Normalization(),
        L.Bidirectional(L.LSTM(draw.randint(2, 4), return_sequences=True)),
        L.TimeDistributed(L.Dense(3)), L.GRU(3), L.Dense(4), L.PReLU(),
        L.Dense(classes, activation="softmax")])
    return model, numbers.normal(size=(21, steps, features)), classes


def transformer():
    steps, words, width = draw.randint(4, 8), draw.randint(8, 12), 4 * draw.randint(2, 3)
    x = tokens = keras.Input((steps,), dtype="int32")
    x = L.Embedding(words, width)(x)
    y = L.MultiHeadAttention(2, 3)(L.LayerNormalization()(x), L.LayerNormalization()(x))
    x = L.Add()([x, y])
    y = L.Dense(width)(L.Dense(2 * width, activation="gelu")(L.RMSNormalization()(x)))
    x = L.GlobalAveragePooling1D()(x + y * 0.5)
    model = keras.Model(tokens, L.Dense(3, activation="softmax")(x))
    return model, numbers.integers(0, words, (19, steps)), 3


def nested():
    x = data = keras.Input((5,))
    inner = keras.Sequential([keras.Input((4,)), L.Dense(4, activation="tanh"),
                              L.BatchNormalization(), L.Dense(4)], name="inner")
    entry = keras.Input((4,))
    other = keras.Sequential([keras.Input((4,)), L.Dense(4), L.BatchNormalization(), L.Dense(4)],
                             name="deep")
    outer = keras.Model(entry, L.Concatenate()([other(entry), L.Dense(4)(entry)]), name="outer")
    x = L.Dense(4)(x)
    x = L.Subtract()([outer(inner(x)), outer(x)])
    return keras.Model(data, L.Dense(3, activation="softmax")(x)), numbers.normal(size=(13, 5)), 3


def frozen():
    model = keras.Sequential([
        keras.Input((6,)), L.Dense(5, name="first"),
        keras.Sequential([L.Dense(5), L.BatchNormalization(), L.Dense(5)], name="base"),
        L.Dense(3, activation="softmax", name="last")])
    model.get_layer("base").trainable = False
    return model, numbers.normal(size=(17, 6)), 3


def parts():
    """Layers that are made of layers."""
    steps, features = draw.randint(3, 5), draw.randint(2, 6)
    x = data = keras.Input((steps, features))
    x = L.GroupQueryAttention(3, 4, 2)(x, x)
    x = L.Attention(use_scale=True)([L.AdditiveAttention()([x, data]), data])
    x = L.RNN(L.LSTMCell(3), return_sequences=True)(x)
    x = L.Bidirectional(L.RNN(L.GRUCell(2), return_sequences=True))(x)
    x = L.EinsumDense("abc,cd->abd", output_shape=(steps, 5), bias_axes="d")(x)
    x = L.ConvLSTM2D(2, 1)(L.Reshape((steps, 5, 1, 1))(x))
    model = keras.Model(data, L.Dense(3, activation="softmax")(L.Flatten()(x)))
    return model, numbers.normal(size=(11, steps, features)), 3


def distributed():
    """A model on each step, as networks of videos have it, beside a layer on each; stacked cells."""
    side = draw.randint(5, 7)
    inner = keras.Sequential([keras.Input((side, side, 1)), L.Conv2D(3, 3, activation="relu"),
                              L.BatchNormalization(), L.Reshape((-1, 3)), L.Bidirectional(L.GRU(2)),
                              L.Dense(4)])
    model = keras.Sequential([
        keras.Input((3, side, side, 1)), L.TimeDistributed(inner), L.TimeDistributed(L.Dense(3)),
        L.RNN([L.GRUCell(3), L.LSTMCell(4), L.GRUCell(4)]), L.Dense(3, activation="softmax")])
    return model, numbers.normal(size=(9, 3, side, side, 1)), 3


MODELS = (cnn, lstm, transformer, nested, frozen, parts, distributed)


def fill(model):
    for weight in model.weights:
        if weight.dtype != "float32":
            continue
        value = numbers.normal(scale=0.5, size=weight.shape)
        positive = "variance" in weight.path
        weight.assign(np.abs(value) + 0.5 if positive else value)
    for layer in model.layers:
        if hasattr(layer, "finalize_state"):
            layer.finalize_state()      # a Normalization works with copies


def run(*arguments):
    done = subprocess.run([SYSTOLE, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"{' '.join(arguments)}: {done.stderr.strip() or done.stdout}")
    return done.stdout


def expect_near(what, got, right):
    if got.shape != right.shape:
        raise ValueError(f"{what}: {got.shape}, not {right.shape}")
    off = np.abs(got - right).max() / np.abs(right).max()
    if not off <= TOLERANCE:
        raise ValueError(f"{what}: {off:.3g} of the largest value off")


def expect_weights(what, model, right, but=()):
    """Bit for bit, but for those that a step changes."""
    for weight, value in zip(model.weights, right, strict=True):
        if any(word in weight.path for word in ("count", *but)):
            continue
        if np.array(weight).tobytes() != value.tobytes():
            raise ValueError(f"{what}: {weight.path} differs")


def tensorflow_js(model):
    """As tensorflowjs_converter writes it: weights one behind the other, in two shards."""
    entries, data = [], b""
    for weight in model.weights:
        value = np.array(weight)
        entries.append({"name": weight.path, "shape": list(value.shape), "dtype": value.dtype.name})
        data += value.tobytes()
    shards = {"group1-shard1of2.bin": data[:len(data) // 3], "group1-shard2of2.bin":
              data[len(data) // 3:]}
    for name, part in shards.items():
        with open(path(name), "wb") as file:
            file.write(part)
    with open(path("model.json"), "w", encoding="utf-8") as file:
        json.dump({"format": "layers-model", "generatedBy": "keras", "modelTopology":
                   {"keras_version": "3", "model_config": json.loads(model.to_json())},
                   "weightsManifest": [{"paths": list(shards), "weights": entries}]}, file)


def check_from_keras(model, x, y):
    model.save(path("m.keras"))
    model.save(path("m.h5"))
    model.save_weights(path("m.weights.h5"))
    tensorflow_js(model)
    with open(path("plain.json"), "w", encoding="utf-8") as file:
        file.write(model.to_json())
    np.savez(path("d.npz"), x_train=np.repeat(x, 2, axis=0), y_train=np.repeat(y, 2), x_test=x,
             y_test=y)
    right = model.predict(x, verbose=0)
    batch = str(2 * draw.randint(2, 8))
    how = ["--tpu", "v2-2"]
    for source, weights in (("m.keras", None), ("m.h5", None), ("model.json", None),
                            ("plain.json", "m.weights.h5"), ("m.keras", "m.h5")):
        more = ["--weights", path(weights)] if weights else []
        run("predict", path(source), *more, "--data", path("d.npz") + ":x_test", "--out",
            path("p.npy"), "--precision", "highest", "--batch", batch, *how)
        expect_near(f"predict {source} {weights}", np.load(path("p.npy")), right)
    loss, accuracy, _ = model.evaluate(x, y, verbose=0, batch_size=len(x))
    run("evaluate", path("m.keras"), "--data", path("d.npz"), "--precision", "highest", "--batch",
        batch, "--json", path("e.json"), *how)
    with open(path("e.json"), encoding="utf-8") as file:
        told = json.load(file)
    if abs(told["loss"] - loss) > 1e-4 * max(abs(loss), 1):
        raise ValueError(f"evaluate: the loss is {told['loss']}, not {loss}")
    if abs(told["metrics"]["accuracy"] - accuracy) > 1e-6:
        raise ValueError(f"evaluate: the accuracy is {told['metrics']['accuracy']}, not {accuracy}")


def check_to_keras(model, x):
    """A training of one step, then one whose rate is 0."""
    values = [np.array(w) for w in model.weights]
    for suffix in (".keras", ".weights.h5"):
        for rate in (0.1, 0.0):
            out = path("out" + suffix)
            run("train", path("m.keras"), "--weights", path("m.weights.h5"), "--data", path("d.npz"),
                "--backend", "host", "--tpu", "v2-2", "--batch", "8", "--steps", "1",
                "--optimizer", f"SGD({rate})", "--save", out)
            if suffix == ".keras":
                back = keras.models.load_model(out, compile=False)
            else:
                back = keras.models.model_from_json(model.to_json())
                back.load_weights(out)
            if rate == 0.0:
                expect_weights(out, back, values, but=("moving_",))
            run("predict", path("plain.json"), "--weights", out, "--data",
                path("d.npz") + ":x_test", "--out", path("q.npy"), "--precision", "highest",
                "--batch", "4", "--tpu", "v2-2")
            expect_near(f"{out} in Keras", back.predict(x, verbose=0), np.load(path("q.npy")))


def check_from_older(model):
    """What a .h5 says of the model becomes a .keras that Keras loads, also where it refuses its own
    for operations among the layers."""
    values = [np.array(w) for w in model.weights]
    try:
        keras.models.load_model(path("m.h5"), compile=False)
    except (TypeError, ValueError, AttributeError) as refusal:
        if "Unknown layer" not in str(refusal):
            return
    run("train", path("m.h5"), "--weights", path("m.h5"), "--data", path("d.npz"), "--backend",
        "host", "--tpu", "v2-2", "--batch", "8", "--steps", "1", "--optimizer", "SGD(0.0)",
        "--save", path("newer.keras"))
    back = keras.models.load_model(path("newer.keras"), compile=False)
    expect_weights("of .h5 as .keras", back, values, but=("moving_",))


def table_of_keras(model):
    lines, rows = [], []
    model.summary(line_length=400, print_fn=lambda text, **_: lines.extend(text.splitlines()))
    for line in lines:
        if line.startswith("│"):
            cells = [cell.strip() for cell in line.strip("│").split("│")]
            if cells[0]:
                rows.append(cells)
            else:
                rows[-1] = [(a + " " + b).strip() for a, b in zip(rows[-1], cells)]
    totals = [line.strip() for line in lines if " params: " in line and "Optimizer" not in line]
    return [[" ".join(c.split()) for c in row] for row in rows], totals


def table_of_systole(source):
    head, *lines = run("summary", source, "--plain").split("\n\n", 1)[1].splitlines()
    columns = [head.index(name) for name in ("Layer", "Output") if name in head]
    is_graph = "Connected to" in head
    rows = []
    for line in lines[:lines.index("")]:
        shape, rest = line[columns[1]:].split(")", 1)
        words = rest.split(None, 2)
        row = [line[:columns[1]].strip(), shape + ")", words[0]]
        rows.append(row + [words[2].strip()] if is_graph else row)
    return rows, [line for line in lines if " params: " in line]


def check_summary(model, source):
    right, right_totals = table_of_keras(model)
    rows, totals = table_of_systole(source)
    if rows != right:
        wrong = next((a, b) for a, b in zip(rows + [None], right + [None]) if a != b)
        raise ValueError(f"summary: {wrong[0]}, not {wrong[1]}")
    named = [line for line in right_totals if not line.startswith("Total")]
    if [line for line in totals if not line.startswith("Total")] != named:
        raise ValueError(f"summary: {totals}, not {right_totals}")


def check(make):
    model, x, classes = make()
    y = numbers.integers(0, classes, len(x))
    fill(model)
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(ignore_class=None),
                  metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(k=2)])
    check_from_keras(model, x, y)
    check_to_keras(model, x)
    check_from_older(model)
    check_summary(keras.models.load_model(path("m.keras"), compile=False), path("m.keras"))


def main():
    failures = []
    for make in MODELS:
        try:
            check(make)
        except ValueError as mistake:
            failures.append(f"{make.__name__}: {mistake}")
    print(f"SEED={SEED}: {len(MODELS)} models, {len(failures)} differ")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""Every class of keras.layers, as Keras writes it with its standard values, is read, or refused by
the layer's name and class; and a field beside a switch that is off is read over, whatever it is."""
import inspect
import json
import os
import subprocess
import sys
import tempfile

os.environ["KERAS_BACKEND"] = "jax"
import keras  # noqa: E402

L = keras.layers
# what a class needs beside its standard values, and the shape that it takes
NEEDED = {
    "Dense": {"units": 2}, "EinsumDense": {"equation": "ab,bc->ac", "output_shape": 3},
    "Embedding": {"input_dim": 4, "output_dim": 2}, "RNN": {"cell": L.LSTMCell(2)},
    "ReversibleEmbedding": {"input_dim": 4, "output_dim": 2}, "Activation": {"activation": "relu"},
    "Bidirectional": {"layer": L.LSTM(2)}, "TimeDistributed": {"layer": L.Dense(2)},
    "SpectralNormalization": {"layer": L.Dense(2)}, "Wrapper": {"layer": L.Dense(2)},
    "Dropout": {"rate": 0.5}, "Reshape": {"target_shape": (-1,)}, "Permute": {"dims": (1,)},
    "GaussianNoise": {"stddev": 1.0}, "RepeatVector": {"n": 2}, "Rescaling": {"scale": 0.5},
    "CenterCrop": {"height": 2, "width": 2}, "Resizing": {"height": 2, "width": 2},
    "RandomCrop": {"height": 2, "width": 2}, "Dot": {"axes": 1}, "Lambda": {"function": abs},
    "Discretization": {"bin_boundaries": [0.0, 1.0]}, "CategoryEncoding": {"num_tokens": 4},
    "Hashing": {"num_bins": 3}, "HashedCrossing": {"num_bins": 3},
    "MaxNumBoundingBoxes": {"max_number": 3}, "GroupNormalization": {"groups": 1},
    "MultiHeadAttention": {"num_heads": 2, "key_dim": 2}, "Pipeline": {"layers": []},
    "GroupQueryAttention": {"head_dim": 2, "num_query_heads": 2, "num_key_value_heads": 1},
    "RandomTranslation": {"height_factor": 0.1, "width_factor": 0.1},
    "RandomZoom": {"height_factor": 0.1}, "RandomPosterization": {"factor": 4},
}
# Keras itself makes them of other programs, of TensorFlow, or they are no layers
NOT_MADE = {"Layer", "InputSpec", "FlaxLayer", "JaxLayer", "TFSMLayer", "TorchModuleWrapper",
            "IntegerLookup", "StringLookup", "TextVectorization", "InputLayer", "StackedRNNCells",
            "LSTMCell", "GRUCell", "SimpleRNNCell", "Wrapper"}
# what is said to be read, by docs/keras.md
REFUSED = {
    "AugMix", "AutoContrast", "ContrastLimitedAdaptiveHistogramEqualization", "CutMix", "Equalization",
    "HashedCrossing", "Hashing", "Lambda", "MaxNumBoundingBoxes", "MelSpectrogram", "MixUp",
    "Pipeline", "RandAugment", "RandomColorDegeneration", "RandomColorJitter",
    "RandomElasticTransform", "RandomErasing", "RandomGaussianBlur", "RandomGrayscale", "RandomHue",
    "RandomInvert", "RandomPerspective", "RandomPosterization", "RandomSaturation",
    "RandomSharpness", "ReversibleEmbedding", "STFTSpectrogram", "Solarization",
}
SHAPES = [(8,), (8, 8), (8, 8, 3), (8, 8, 8, 3), (4, 8, 8, 3), (2, 8, 8, 8, 3)]


def made(name):
    """The layer with what its class must be given."""
    how = dict(NEEDED.get(name, {}))
    for field, value in (("filters", 2), ("kernel_size", 2), ("rate", 0.5), ("units", 2),
                         ("factor", 0.1), ("output_size", 2), ("pool_size", 2)):
        parameter = inspect.signature(getattr(L, name).__init__).parameters.get(field)
        if parameter is not None and parameter.default is parameter.empty:
            how.setdefault(field, value)
    return getattr(L, name)(name="the_layer", **how)


def wrapped(layer):
    """A model's JSON around what Keras writes of the layer: it need not run."""
    written = keras.saving.serialize_keras_object(layer)
    written.pop("build_config", None)
    name = type(layer).__name__
    count = 2 if hasattr(layer, "_merge_function") or name in (
        "Concatenate", "Dot", "Attention", "AdditiveAttention", "GroupQueryAttention") else 1
    return written, count


def model_text(written, count, shape, dtype="float32"):
    inputs = [f"x{i}" for i in range(count)]

    def tensor(of):
        return {"class_name": "__keras_tensor__", "config": {"keras_history": [of, 0, 0]}}
    layers = [{"class_name": "InputLayer", "name": name, "inbound_nodes": [],
               "config": {"name": name, "batch_shape": [None, *shape], "dtype": dtype}}
              for name in inputs]
    args = [tensor(name) for name in inputs]
    layers.append({**written, "name": "the_layer",
                   "inbound_nodes": [{"args": [args] if count > 1 else args, "kwargs": {}}]})
    return {"class_name": "Functional", "config": {
        "name": "m", "layers": layers, "input_layers": [[name, 0, 0] for name in inputs],
        "output_layers": [["the_layer", 0, 0]]}}


def read(model):
    """What the program says of it; empty if it reads it."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(model, file)
        file.flush()
        run = subprocess.run([VALUES, file.name], capture_output=True, text=True, check=False)
    return "" if run.returncode == 0 else run.stderr.strip() or f"status {run.returncode}"


VALUES = os.environ.get("KERAS_VALUES", "build/tests/jax/keras_values")


def try_class(name):
    try:
        layer = made(name)
    except ImportError:
        return None                     # Keras makes it with TensorFlow alone
    except (TypeError, ValueError) as mistake:
        return f"{name} is not made: {mistake}"
    written, count = wrapped(layer)
    said = ""
    for shape in SHAPES:
        said = read(model_text(written, count, shape))
        if not said:
            break
        if "takes" not in said and "fit" not in said and "dimensions" not in said and \
                "rank" not in said and "samples" not in said:
            break
    if name in REFUSED:
        if f'layer "the_layer": unknown layer class {name}' not in said:
            return f"{name} should be refused by name and class: {said or 'it is read'}"
    elif said:
        return f"{name}: {said}"
    return None


# a layer, and fields that say nothing while their sibling has this value
OFF = [
    ("BatchNormalization", {"renorm": False}, ["renorm_clipping", "renorm_momentum"]),
    ("BatchNormalization", {"center": False}, ["beta_initializer", "beta_regularizer"]),
    ("BatchNormalization", {"scale": False}, ["gamma_initializer", "gamma_constraint"]),
    ("Dense", {"use_bias": False}, ["bias_initializer", "bias_regularizer", "bias_constraint"]),
    ("Conv2D", {"use_bias": False}, ["bias_initializer", "bias_regularizer", "bias_constraint"]),
    ("LSTM", {"use_bias": False}, ["bias_initializer", "unit_forget_bias", "bias_constraint"]),
    ("Resizing", {"pad_to_aspect_ratio": False}, ["fill_mode", "fill_value"]),
]


def try_off(name, switch, fields):
    for field in fields:
        for value in ("nothing", -7, [1, 2], {"class_name": "Other", "config": {}}, True):
            written, count = wrapped(made(name))
            written["config"].update(switch)
            written["config"][field] = value
            said = min((read(model_text(written, count, shape)) for shape in SHAPES[:3]), key=len)
            if said:
                return f"{name} with {switch} and {field} = {value}: {said}"
    return None


def main():
    names = sorted(name for name in dir(L) if inspect.isclass(getattr(L, name)) and
                   getattr(L, name).__name__ == name and name not in NOT_MADE)
    failures = [said for name in names if (said := try_class(name))]
    failures += [said for row in OFF if (said := try_off(*row))]
    print(f"{len(names)} classes, {len(failures)} failures")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

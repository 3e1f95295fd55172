"""NumPy and safetensors read what commands leave: a product's result against NumPy's own, weights
in .safetensors against the same training's .weights.h5."""
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np
from safetensors.numpy import load_file

SYSTOLE = os.environ.get("SYSTOLE", "./systole")


def run(*words):
    subprocess.run([SYSTOLE, *words], check=True, stdout=subprocess.DEVNULL)


def product(work):
    rng = np.random.default_rng(1)
    a = rng.integers(-8, 9, (37, 53)).astype("float32")
    b = rng.integers(-8, 9, (53, 29)).astype("float32")
    names = {name: os.path.join(work, name + ".npy") for name in "abc"}
    np.save(names["a"], a)
    np.save(names["b"], b)
    run("gemm", "37x29x53", "--a", names["a"], "--b", names["b"], "--out-type", "f32",
        "--out-npy", names["c"])
    c = np.load(names["c"])
    if c.shape != (37, 29) or not np.array_equal(c.astype("float32"), a @ b):
        raise ValueError(f"the product is {c.dtype} {c.shape} and not NumPy's")


def weights(work):
    saved = [os.path.join(work, name) for name in ("w.safetensors", "w.weights.h5")]
    for name in saved:
        run("train", "examples/mnist_mlp.json", "--tpu", "v3-8", "--backend", "host", "--batch",
            "64", "--epochs", "1", "--steps", "2", "--save", name)
    flat = []
    with h5py.File(saved[1]) as f:
        f.visititems(lambda _, x: flat.append(x[...]) if isinstance(x, h5py.Dataset) else None)
    tensors = load_file(saved[0])
    for name, value in tensors.items():
        if not any(x.shape == value.shape and np.array_equal(x, value) for x in flat):
            raise ValueError(f"{name} {value.shape} is not in the HDF5 file")
    if len(tensors) != len(flat):
        raise ValueError(f"{len(tensors)} tensors, {len(flat)} datasets")


def main():
    with tempfile.TemporaryDirectory() as work:
        for part in (product, weights):
            try:
                part(work)
            except ValueError as mistake:
                print(f"{part.__name__}: {mistake}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

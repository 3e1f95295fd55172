"""Pictures of digits for the examples: MNIST where a folder or file of it is given, else drawn ones."""
import gzip
import os

import numpy as np

# the seven bars of a digital clock's digit: top, upper left, upper right, middle, lower left,
# lower right, bottom, each from (row, column) to (row, column) of a box of height 2 and width 1
BARS = [((0, 0), (0, 1)), ((0, 0), (1, 0)), ((0, 1), (1, 1)), ((1, 0), (1, 1)), ((1, 0), (2, 0)),
        ((1, 1), (2, 1)), ((2, 0), (2, 1))]
LIT = ["012456", "25", "02346", "02356", "1235", "01356", "013456", "025", "0123456", "012356"]


def draw(rng, digit):
    """one digit of 28 by 28, moved, slanted and under noise"""
    rows, columns = np.mgrid[0:28, 0:28]
    height, width = rng.uniform(6.5, 9.5), rng.uniform(8, 13)
    top, left, slant = rng.uniform(3, 7), rng.uniform(5, 10), rng.uniform(-0.25, 0.25)
    pen = rng.uniform(0.8, 1.6)
    ink = np.zeros((28, 28))
    for i, ((r0, c0), (r1, c1)) in enumerate(BARS):
        if str(i) not in LIT[digit]:
            continue
        a = np.array([top + r0 * height, left + c0 * width - slant * r0 * height])
        b = np.array([top + r1 * height, left + c1 * width - slant * r1 * height])
        along = ((rows - a[0]) * (b - a)[0] + (columns - a[1]) * (b - a)[1]) / np.sum((b - a) ** 2)
        along = np.clip(along, 0, 1)
        away = np.hypot(rows - a[0] - along * (b - a)[0], columns - a[1] - along * (b - a)[1])
        ink = np.maximum(ink, np.clip(1.5 - away / pen, 0, 1))
    return np.clip(ink + rng.normal(0, 0.08, ink.shape), 0, 1)


def drawn(count, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count).astype(np.int32)
    return np.stack([draw(rng, d) for d in labels]).astype(np.float32), labels


def read_idx(path):
    """an array of MNIST's own format, gzipped or not"""
    if not os.path.exists(path):
        path += ".gz"
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        data = f.read()
    rank = data[3]
    shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(rank)]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def load(where=None, train=4096, test=1024):
    """(x_train, y_train), (x_test, y_test): pictures in 0..1, labels. `where` is a folder of MNIST's
    four files or an .npz as keras.datasets.mnist has it; without it so many digits are drawn."""
    if not where:
        return drawn(train, 1), drawn(test, 2)
    if os.path.isdir(where):
        sets = [(read_idx(f"{where}/{s}-images-idx3-ubyte"), read_idx(f"{where}/{s}-labels-idx1-ubyte"))
                for s in ("train", "t10k")]
    else:
        with np.load(where) as z:
            sets = [(z[f"x_{s}"], z[f"y_{s}"]) for s in ("train", "test")]
    return tuple((x.astype(np.float32) / 255, y.astype(np.int32)) for x, y in sets)

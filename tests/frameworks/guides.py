"""The guides' networks, for whichever framework exports their training steps: what our own Keras
front end makes of them, and the comparison: the same losses over 50 steps, about the same cycles."""
import os
import re
import subprocess
import tempfile

import keras
import numpy as np

SYSTOLE = os.environ.get("SYSTOLE", "./systole")
STEPS = [1, 2, 5, 10, 20, 50]
LOSS_BOUND = 1e-3                       # of the first loss
CYCLES_BOUND = 0.10


def dense():
    return keras.Sequential([keras.Input((28, 28)), keras.layers.Flatten(),
                             keras.layers.Dense(128, activation="relu"), keras.layers.Dense(10)])


def conv():
    layers = keras.layers
    return keras.Sequential([
        keras.Input((14, 14, 1)), layers.Conv2D(32, 3, activation="relu"),
        layers.Conv2D(32, 3, activation="relu"), layers.Flatten(),
        layers.Dense(64, activation="relu"), layers.Dense(10)])


def run(*command):
    r = subprocess.run(command, capture_output=True, text=True, check=False)
    if r.returncode != 0:
        raise ValueError(f"{' '.join(command)}: {r.stdout[-1000:]}{r.stderr}")
    return r.stdout


def of_export(folder, carry, steps, precision):
    """the loss before the last of so many steps, and the cycles of one; the loss is result 0"""
    out = run(SYSTOLE, "exec", f"{folder}/step", "--inputs", f"{folder}/in.safetensors",
              "--tpu", "v5e", "--precision", precision, "--steps", str(steps), "--out", f"{folder}/run",
              *(["--carry", carry] if steps > 1 else []))
    loss = np.load(f"{folder}/run/result_0.npy")
    return float(loss), int(re.search(r"^([\d,]+) cycles = ", out, re.M)[1].replace(",", ""))


def of_keras(folder, batch, epsilon, precision):
    out = run(SYSTOLE, "train", f"{folder}/model.json", "--weights", f"{folder}/model.weights.h5",
              "--data", f"{folder}/data.npz", "--batch", str(batch), "--epochs", str(STEPS[-1]),
              "--tpu", "v5e", "--precision", precision, "--optimizer", f"Adam(1e-3, epsilon={epsilon})",
              "--loss", "SparseCategoricalCrossentropy(from_logits=True)")
    rows = re.findall(r"^ +(\d+) +([\d.]+) .*% +([\d,]+) ", out, re.M)
    return [float(r[1]) for r in rows], int(rows[0][2].replace(",", ""))


def compare(name, model, export, epsilon, x, y, precision, folder):
    """export(model, epsilon, x, y, folder) writes folder/step and folder/in.safetensors, and returns what
    --carry takes"""
    with open(f"{folder}/model.json", "w") as f:
        f.write(model.to_json())
    model.save_weights(f"{folder}/model.weights.h5")
    np.savez(f"{folder}/data.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    carry = export(model, epsilon, x, y, folder)
    losses, own_cycles = of_keras(folder, len(x), epsilon, "highest" if precision == "highest" else "default")
    failed = 0
    for steps in STEPS:
        loss, cycles = of_export(folder, carry, steps, precision)
        off = abs(loss - losses[steps - 1]) / losses[0]
        print(f"{name}, {precision}: step {steps:2}: {loss:.4f} exported, {losses[steps - 1]:.4f} our own, "
              f"{cycles} cycles for {own_cycles}")
        failed += not off <= LOSS_BOUND
    # the highest precision of exec has longer forms of functions than a training of ours
    failed += precision == "program" and abs(cycles / own_cycles - 1) > CYCLES_BOUND
    return failed


def pictures(rng, count, shape):
    """of ten classes, each a picture of its own under noise, as digits are: what can be learned"""
    y = rng.integers(0, 10, count).astype(np.int32)
    x = 0.5 * rng.uniform(0, 1, (10, *shape))[y] + 0.5 * rng.uniform(0, 1, (count, *shape))
    return x.astype(np.float32), y


def noise(rng, count, shape):
    """of ten classes that nothing tells apart: each sample is learned by heart, and what differs in a
    step's rounding to bf16 grows"""
    x = rng.uniform(0, 1, (count, *shape)).astype(np.float32)
    return x, rng.integers(0, 10, count).astype(np.int32)


def compare_all(export, epsilon):
    rng = np.random.default_rng(0)
    failed = 0
    for draw, precision in [(pictures, "program"), (noise, "highest")]:
        keras.utils.set_random_seed(1)
        for name, model, count, shape in [("dense", dense(), 256, (28, 28)),
                                          ("conv", conv(), 32, (14, 14, 1))]:
            with tempfile.TemporaryDirectory() as folder:
                failed += compare(name, model, export, epsilon, *draw(rng, count, shape), precision,
                                  folder)
    return failed != 0

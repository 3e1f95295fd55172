"""The guides' networks as exported training steps and as our own Keras front end trains them: the
same losses over 50 steps, and about the same cycles."""
import os

os.environ["KERAS_BACKEND"] = "jax"
import re  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402

import jax  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

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


def export(model, x, y, folder):
    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def loss(trainable, x, y):
        logits, _ = model.stateless_call(trainable, [], x, training=True)
        return loss_of(y, logits)

    def step(state, x, y):
        trainable, slots = state
        value, gradients = jax.value_and_grad(loss)(trainable, x, y)
        trainable, slots = optimizer.stateless_apply(slots, gradients, trainable)
        return (trainable, slots), value

    state = ([v.value for v in model.trainable_variables], [v.value for v in optimizer.variables])
    exported = jax.export.export(jax.jit(step), platforms=["tpu"])(state, x, y)
    with open(f"{folder}/step.mlirbc", "wb") as f:
        f.write(exported.mlir_module_serialized)
    leaves = jax.tree.leaves((state, x, y))
    save_file({str(i): np.array(a, order="C") for i, a in enumerate(leaves)},
              f"{folder}/in.safetensors")
    return len(jax.tree.leaves(state))


def of_export(folder, carry, steps):
    """the loss before the last of so many steps, and the cycles of one"""
    out = run(SYSTOLE, "exec", f"{folder}/step.mlirbc", "--inputs", f"{folder}/in.safetensors",
              "--tpu", "v5e", "--steps", str(steps), "--out", f"{folder}/run",
              *(["--carry", f"0-{carry - 1}"] if steps > 1 else []))
    loss = np.load(f"{folder}/run/result_{carry}.npy")
    return float(loss), int(re.search(r"^([\d,]+) cycles = ", out, re.M)[1].replace(",", ""))


def of_keras(folder, batch):
    out = run(SYSTOLE, "train", f"{folder}/model.json", "--weights", f"{folder}/model.weights.h5",
              "--data", f"{folder}/data.npz", "--batch", str(batch), "--epochs", str(STEPS[-1]),
              "--tpu", "v5e", "--optimizer", "Adam(1e-3)",
              "--loss", "SparseCategoricalCrossentropy(from_logits=True)")
    rows = re.findall(r"^ +(\d+) +([\d.]+) .*% +([\d,]+) ", out, re.M)
    return [float(r[1]) for r in rows], int(rows[0][2].replace(",", ""))


def compare(name, model, x, y, folder):
    failed = 0
    carry = export(model, x, y, folder)
    with open(f"{folder}/model.json", "w") as f:
        f.write(model.to_json())
    model.save_weights(f"{folder}/model.weights.h5")
    np.savez(f"{folder}/data.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    losses, own_cycles = of_keras(folder, len(x))
    for steps in STEPS:
        loss, cycles = of_export(folder, carry, steps)
        off = abs(loss - losses[steps - 1]) / losses[0]
        print(f"{name}: step {steps:2}: {loss:.4f} exported, {losses[steps - 1]:.4f} our own, "
              f"{cycles} cycles for {own_cycles}")
        failed += off > LOSS_BOUND
    failed += abs(cycles / own_cycles - 1) > CYCLES_BOUND
    return failed


def main():
    rng = np.random.default_rng(0)
    keras.utils.set_random_seed(1)
    failed = 0
    for name, model, x in [("dense", dense(), rng.uniform(0, 1, (256, 28, 28))),
                           ("conv", conv(), rng.uniform(0, 1, (32, 14, 14, 1)))]:
        y = rng.integers(0, 10, len(x)).astype(np.int32)
        with tempfile.TemporaryDirectory() as folder:
            failed += compare(name, model, x.astype(np.float32), y, folder)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

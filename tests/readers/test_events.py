"""TensorBoard reads what the TensorBoard callback wrote: every scalar of every epoch, and these are
the numbers of the CSV log."""
import csv
import os
import subprocess
import sys
import tempfile

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

SYSTOLE = os.environ.get("SYSTOLE", "./systole")
EPOCHS = 3


def scalars(folder):
    events = EventAccumulator(folder)
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)]
            for tag in events.Tags()["scalars"]}


def main():
    with tempfile.TemporaryDirectory() as work:
        logs, log = os.path.join(work, "logs"), os.path.join(work, "log.csv")
        subprocess.run([SYSTOLE, "train", "examples/mnist_mlp.json", "--tpu", "v3-8", "--backend",
                        "host", "--batch", "64", "--epochs", str(EPOCHS), "--steps-per-epoch",
                        "4", "--validation-steps", "2",
                        "--csv-log", log, "--callbacks", f"TensorBoard('{logs}')"],
                       check=True, stdout=subprocess.DEVNULL)
        with open(log, encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        train, held = scalars(os.path.join(logs, "train")), scalars(os.path.join(logs, "validation"))
        wanted = (("epoch_loss", train, "loss"), ("epoch_loss", held, "val_loss"),
                  ("epoch_accuracy", train, "accuracy"), ("epoch_accuracy", held, "val_accuracy"))
        for tag, part, column in wanted:
            if tag not in part:
                print(f"no {tag} among {sorted(part)}")
                return 1
            right = [float(row[column]) for row in rows]
            is_ = [value for _, value in part[tag]]
            steps = [step for step, _ in part[tag]]
            if steps != list(range(EPOCHS)) or any(abs(a - b) > 1e-6 * abs(b) + 1e-12
                                                   for a, b in zip(is_, right)):
                print(f"{tag}: {part[tag]}, not {right}")
                return 1
    print(f"{len(train) + len(held)} tags of {EPOCHS} epochs")
    return 0


if __name__ == "__main__":
    sys.exit(main())

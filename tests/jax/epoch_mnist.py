"""The TPU guide's CNN in Keras 3, data-parallel on the eight cores of a v2-8, one epoch of the real MNIST: at
least 98.0 % of its test pictures are told right. For make check-long: half an hour. MNIST names the
folder of its four files; without it the test skips."""
import os
import re
import sys

import held

ACCURACY = 0.98


def main():
    mnist = os.environ.get("MNIST")
    if not mnist or not os.path.isdir(mnist):
        print("skipped: MNIST names no folder of MNIST's files")
        return 77
    run = held.start([held.SYSTOLE, "jax", "--tpu", "v2-8", "--python", sys.executable,
                      os.path.join(held.EXAMPLES, "mnist_keras.py"), "--data", mnist, "--batch", "256"], {},
                     timeout=None)
    found = re.search(r"^accuracy ([\d.]+)$", run.stdout, re.M)
    if run.returncode != 0 or not found:
        print(run.stdout[-1000:], run.stderr[-3000:])
        return 1
    print(f"accuracy {found[1]}, wanted is {ACCURACY}")
    return float(found[1]) < ACCURACY


if __name__ == "__main__":
    sys.exit(main())

"""The newest JAX, whose Python is newer than that of make check-jax: a script of its forms on a simulated v5e-8
beside its CPU, and its artifact and text of a program over eight devices by systole exec."""
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTOLE = os.environ.get("SYSTOLE", "./systole")
SCRIPT = os.path.join(HERE, "newest.py")
BOUND = 2e-5                            # of a number's size, which counts at least as 1


def output(command, environment):
    run = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True,
                         timeout=900, check=False)
    assert run.returncode == 0, f"{command}: {run.stdout[-500:]}{run.stderr[-2000:]}"
    return run.stdout


def numbers(text):
    line, = [line for line in text.splitlines() if line.startswith("numbers ")]
    return np.array([float(word) for word in line.split()[1:]])


def main():
    with tempfile.TemporaryDirectory() as folder:
        wanted = numbers(output([sys.executable, SCRIPT, folder],
                                {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}))
        got = numbers(output([SYSTOLE, "jax", "--tpu", "v5e-8", "--python", sys.executable, SCRIPT], {}))
        off = np.max(np.abs(got - wanted) / np.maximum(np.abs(wanted), 1))
        print(f"{len(got)} numbers, off by {off:.1e}")
        assert len(got) == len(wanted) and off <= BOUND, f"{got}, wanted are {wanted}"
        y = np.load(f"{folder}/y.npy")
        for form in ("program.mlirbc", "program.mlir"):
            output([SYSTOLE, "exec", f"{folder}/{form}", "--tpu", "v5e-8", "--precision", "highest",
                    "--input", f"0={folder}/x.npy", "--out", f"{folder}/out"], {})
            off = np.max(np.abs(np.load(f"{folder}/out/result_0.npy") - y)) / np.max(np.abs(y))
            print(f"{form}: off by {off:.1e} of the largest")
            assert off <= BOUND


if __name__ == "__main__":
    sys.exit(main())

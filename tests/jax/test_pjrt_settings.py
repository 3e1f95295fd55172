"""What the environment says of the simulated machine reaches the programs, and what it cannot say is told."""
import os
import subprocess
import sys

import pjrt

pjrt.use("v5e-1", QUIET=1)

PRODUCTS = """
import jax, jax.numpy as jnp, numpy as np
x, k = [np.random.RandomState(i).randn(*s).astype("float32") for i, s in ((1, (2, 9, 9, 8)), (2, (3, 3, 8, 16)))]
def conv(x, k):
    return jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
def both(x, k):
    y, back = jax.vjp(conv, x, k)
    return y, *back(y), x.reshape(-1, 8) @ k[0, 0]
there = jax.jit(both)(x, k)
with jax.default_device(jax.devices("cpu")[0]):
    here = jax.jit(both)(x, k)
print(max(float(np.abs(np.asarray(a) - b).max() / np.abs(b).max()) for a, b in zip(there, here)))
"""


def run(text, **environment):
    return subprocess.run([sys.executable, "-c", text], env={**os.environ, **environment},
                          capture_output=True, text=True, check=False)


def off(**environment):
    r = run(PRODUCTS, **environment)
    assert r.returncode == 0, r.stderr
    return float(r.stdout)


def test_products_are_as_exact_as_asked():
    usual, highest = off(), off(SYSTOLE_PRECISION="highest")
    assert 1e-4 < usual < 2e-2 and highest < 2e-6, (usual, highest)
    assert off(SYSTOLE_PRECISION="program") == usual


def test_the_evaluator_takes_the_same():
    assert off(SYSTOLE_PRECISION="highest", SYSTOLE_MODE="host") < 2e-6
    assert off(SYSTOLE_MODE="host") > 1e-4


def test_other_words_are_refused():
    for name, wrong, allowed in (("PRECISION", "high", "program and highest"),
                                 ("CODEGEN", "good", "xla and best"), ("MODE", "slow", "both, timing"),
                                 ("THREADS", "0", "1..256"), ("TPU", "v9-8", "unknown chip")):
        r = run("import jax; jax.devices('tpu')", **{"SYSTOLE_" + name: wrong})
        assert r.returncode == 1 and allowed in r.stderr and "Traceback" in r.stderr, (name, r.stderr)


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name, "holds", flush=True)

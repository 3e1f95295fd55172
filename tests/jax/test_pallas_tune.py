"""Variants of a kernel of Pallas, lowered by examples/jax/lower_variants.py and timed by systole tune;
and the races that JAX's interpret mode finds in pallas/mistakes.py, which the table beside their
modules has, too."""
import csv
import os
import subprocess
import sys
import tempfile

import held

HERE = os.path.dirname(os.path.abspath(__file__))


def tune():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "variants")
        subprocess.run([sys.executable, os.path.join(held.EXAMPLES, "lower_variants.py"),
                        os.path.join(held.EXAMPLES, "pallas_matmul.py") + ":matmul",
                        "--arg", "bf16[256,256]", "--arg", "bf16[256,256]",
                        "--vary", "block_m=128,256,100", "--vary", "block_n=128,256",
                        "--vary", "block_k=128", "--out", out], check=True)
        table = os.path.join(folder, "table.csv")
        subprocess.run([os.path.join(HERE, "../../systole"), "tune", out, "--tpu", "v5e", "--csv",
                        table], check=True, stdout=subprocess.DEVNULL)
        with open(table) as f:
            rows = list(csv.DictReader(f))
    assert len(rows) == 6, rows
    for row in rows:
        if row["block_m"] == "100":
            assert "blocks do not divide" in row["reason"], row
        else:
            assert int(row["cycles"]) > 0 and int(row["vmem_bytes"]) > 0, row


RACES = """
import sys
sys.path.insert(0, sys.argv[1])
import jax
import jax.numpy as jnp
from jax.experimental.pallas import tpu as pltpu
from jax._src.pallas.mosaic.interpret import interpret_pallas_call
from mistakes import CASES
function, shapes = next((f, s) for n, f, s, _ in CASES if n == sys.argv[2])
cores = 2 if sys.argv[2] == "parallel_sum" else 1
settings = pltpu.InterpretParams(detect_races=True, num_cores_or_threads=cores)
jax.block_until_ready(function(*[jnp.ones(s.shape, s.dtype) for s in shapes], interpret=settings))
print("races" if interpret_pallas_call.races.races_found else "none")
"""


def races():
    with open(os.path.join(HERE, "../import/data/pallas_mistakes/mistakes.csv")) as f:
        ours = {row["name"]: row["found"] for row in csv.DictReader(f)}
    for name in ("read_before_wait", "write_under_copy", "parallel_sum", "unwritten_scratch"):
        words = subprocess.run([sys.executable, "-c", RACES, os.path.join(HERE, "pallas"), name],
                               check=True, capture_output=True, text=True,
                               env=dict(os.environ, JAX_PLATFORMS="cpu")).stdout.split()
        assert (words[-1] == "races") == (ours[name] == "race"), (name, words[-1], ours[name])


def main():
    tune()
    races()
    return 0


if __name__ == "__main__":
    sys.exit(main())

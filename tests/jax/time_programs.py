"""How long the exported programs take on JAX's CPU backend, compiled, and by systole exec --backend
host: seconds of a step, and their ratio. Not a test: times are nobody's to assert.

    python tests/jax/time_programs.py [NAME ...]"""
import importlib
import os
import re
import subprocess
import sys
import tempfile
import time

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "programs")]
from export_programs import export, names  # noqa: E402

SYSTOLE = os.environ.get("SYSTOLE", "./systole")
STEPS = 50


def of_jax(name):
    p = importlib.import_module(name).program()
    function = jax.jit(p["function"])
    jax.block_until_ready(function(*p["arguments"]))
    began = time.perf_counter()
    for _ in range(STEPS):
        jax.block_until_ready(function(*p["arguments"]))
    return (time.perf_counter() - began) / STEPS


def of_systole(name, folder):
    path = os.path.join(folder, name)
    out = subprocess.run([SYSTOLE, "exec", path + ".mlirbc", "--inputs", path + ".inputs.safetensors",
                          "--backend", "host", "--precision", "highest", "--steps", str(STEPS)],
                         capture_output=True, text=True, check=True).stdout
    return float(re.search(r"evaluated on the host in ([\d.]+) s", out)[1]) / STEPS


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or names():
            if name.startswith("sharded_"):     # JAX runs these on threads, one for each device
                continue
            export(name, folder)
            theirs, ours = of_jax(name), of_systole(name, folder)
            print(f"{name:20} {theirs * 1e3:9.3f} ms JAX {ours * 1e3:9.3f} ms systole "
                  f"{ours / theirs:6.1f} x", flush=True)


if __name__ == "__main__":
    main()

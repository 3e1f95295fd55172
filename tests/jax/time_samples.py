"""How long programs that lie in folders take on JAX's CPU backend, compiled, and by systole exec
--backend host: seconds of a run, and their ratio, the largest first. Not a test: times are nobody's to
assert. A folder has program.mlirbc, program.mlir or program.mlir.gz, and inputs.safetensors; what
JAX's CPU refuses (decompositions by the TPU's names, several devices) is left out with a line.

    python tests/jax/time_samples.py FOLDER/*/ ...

SECONDS (2) is how long JAX runs each, then systole as many times as take about that long."""
import gzip
import os
import re
import subprocess
import sys
import time

import jax
import numpy as np
from jax._src import compiler
from jax._src.interpreters import mlir
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from safetensors import safe_open

jax.config.update("jax_enable_x64", True)         # inputs of 64 bits as they are
SYSTOLE = os.environ.get("SYSTOLE", "./systole")
SECONDS = float(os.environ.get("SECONDS", "2"))


def program_of(folder):
    names = ("program.mlirbc", "program.mlir", "program.mlir.gz")
    return next((p for p in (os.path.join(folder, n) for n in names) if os.path.exists(p)), None)


def module_of(path, context):
    if path.endswith(".mlirbc"):
        with open(path, "rb") as f:
            return stablehlo.deserialize_portable_artifact(context, f.read())
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        return ir.Module.parse(f.read(), context)


def inputs_of(path):
    with safe_open(path, framework="flax") as f:
        names = sorted(f.keys(), key=int)
        return [jax.device_put(f.get_tensor(name)) for name in names]


def of_jax(program, inputs):
    device = jax.devices("cpu")[0]
    with mlir.make_ir_context() as context:
        module = module_of(program, context)
        options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
        run = compiler.backend_compile_and_load(device.client, module,
                                                _jax.DeviceList((device,)), options, [])
    spent, runs = 0.0, 0
    run.execute_sharded(inputs)
    while spent < SECONDS and runs < 1000:
        began = time.perf_counter()
        for result in run.execute_sharded(inputs).disassemble_into_single_device_arrays():
            jax.block_until_ready(result)
        spent += time.perf_counter() - began
        runs += 1
    return spent / runs


def of_systole(program, folder, steps):
    out = subprocess.run([SYSTOLE, "exec", program, "--inputs",
                          os.path.join(folder, "inputs.safetensors"), "--backend", "host",
                          "--steps", str(steps)], capture_output=True, text=True, check=True).stdout
    return float(re.search(r"evaluated on the host in ([\d.]+) s", out)[1]) / steps


def main(folders):
    rows = []
    for folder in map(os.path.normpath, folders):
        path = os.path.join(folder, "inputs.safetensors")
        name = os.path.basename(folder)
        program = program_of(folder)
        if not program or not os.path.exists(path):
            continue
        try:
            theirs = of_jax(program, inputs_of(path))
        except Exception as e:                          # of any kind: another backend's program
            print(f"{name}: not on JAX's CPU: {str(e).splitlines()[0][:100]}", flush=True)
            continue
        once = of_systole(program, folder, 1)
        ours = min(once, of_systole(program, folder, max(1, min(100, int(SECONDS / max(once, 1e-3))))))
        rows.append((ours / theirs, name, theirs, ours))
        print(f"{name:45} {theirs * 1e3:10.3f} ms JAX {ours * 1e3:10.3f} ms systole "
              f"{ours / theirs:7.1f} x", file=sys.stderr, flush=True)
    for ratio, name, theirs, ours in sorted(rows, reverse=True):
        print(f"{name:45} {theirs * 1e3:10.3f} ms JAX {ours * 1e3:10.3f} ms systole {ratio:7.1f} x")
    print(f"{len(rows)} programs, {sum(r[0] > 10 for r in rows)} take more than ten times JAX's CPU, "
          f"median {np.median([r[0] for r in rows]):.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])

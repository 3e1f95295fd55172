"""How long programs that lie in folders take on JAX's CPU backend, compiled, and by systole exec
--backend host: seconds of a run, and their ratio, the largest first. Others may work on the same
processors: of JAX's runs the fastest counts, of systole's steps their processor time beside the
first's, where that is less than the time that passed. Not a test: times are nobody's to assert. A
folder has program.mlirbc, program.mlir or program.mlir.gz, and inputs.safetensors; what JAX's CPU
refuses (decompositions by the TPU's names, several devices) is left out with a line.

    python tests/jax/time_samples.py FOLDER/*/ ...

SECONDS (2) is how long JAX runs each, then systole as many times as take about that long."""
import gzip
import os
import re
import resource
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
    spent, times = 0.0, []
    run.execute_sharded(inputs)
    while spent < SECONDS and len(times) < 1000:
        began = time.perf_counter()
        for result in run.execute_sharded(inputs).disassemble_into_single_device_arrays():
            jax.block_until_ready(result)
        times.append(time.perf_counter() - began)
        spent += times[-1]
    return min(times)


def of_systole(program, folder, steps):
    """seconds that passed, of the processor"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run([SYSTOLE, "exec", program, "--inputs",
                          os.path.join(folder, "inputs.safetensors"), "--backend", "host",
                          "--steps", str(steps)], capture_output=True, text=True, check=True).stdout
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (float(re.search(r"evaluated on the host in ([\d.]+) s", out)[1]),
            now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime)


def per_step(program, folder):
    once, used_once = of_systole(program, folder, 1)
    steps = max(40 if once < SECONDS else 1, min(300, int(SECONDS / max(once, 1e-3))))
    if steps == 1:
        return once
    passed, used = of_systole(program, folder, steps)
    return min(once, passed / steps, max(used - used_once, 1e-3) / (steps - 1))


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
        ours = per_step(program, folder)
        rows.append((ours / theirs, name, theirs, ours))
        print(f"{name:45} {theirs * 1e3:10.3f} ms JAX {ours * 1e3:10.3f} ms systole "
              f"{ours / theirs:7.1f} x", file=sys.stderr, flush=True)
    for ratio, name, theirs, ours in sorted(rows, reverse=True):
        print(f"{name:45} {theirs * 1e3:10.3f} ms JAX {ours * 1e3:10.3f} ms systole {ratio:7.1f} x")
    print(f"{len(rows)} programs, {sum(r[0] > 10 for r in rows)} take more than ten times JAX's CPU, "
          f"median {np.median([r[0] for r in rows]):.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])

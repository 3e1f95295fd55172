"""How many kernels of Pallas run with right values: each is lowered for the TPU, carried out by
`systole exec` and held against JAX's TPU interpret mode on the CPU.

    count_pallas.py [--tpu v5e] [--backend cores] [--only TEXT] [--keep FOLDER] [FILE.py...]

Each FILE has CASES of (name, function, shapes of arguments[, bound]) and may have ARGUMENTS, arrays by
name of case and number of argument, and WANTED, by name of case a function of the arguments that makes
what the kernel should, where interpret mode does not know all that the kernel has; pallas/library.py
and pallas/guide.py where none is named. The exit status is 1 where a kernel is refused or has other
values.
"""
import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "pallas"))
from interpret import interpreted, tell_chip  # noqa: E402

import jax  # noqa: E402
import jax.export  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKS = [jax.export.DisabledSafetyCheck.custom_call("tpu_custom_call")]
BOUND = 2e-2                            # of what goes through bf16; a case may say less


def cases_of(path):
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made, wanted = getattr(module, "ARGUMENTS", {}), getattr(module, "WANTED", {})
    for case in module.CASES:
        yield (*case, BOUND)[:4], made.get(case[0], {}), wanted.get(case[0])


def argument(rng, s):
    if s.dtype == jnp.bool_:
        return jnp.asarray(rng.integers(0, 2, s.shape), jnp.bool_)
    if jnp.issubdtype(s.dtype, jnp.integer):
        return jnp.asarray(rng.integers(0, 8, s.shape), s.dtype)
    return jnp.asarray(rng.standard_normal(s.shape), s.dtype)


def lowered(function, args):
    return jax.export.export(jax.jit(function), platforms=["tpu"], disabled_checks=CHECKS)(*args)


def saved(a):
    """an array in a type that safetensors has"""
    return np.asarray(a, np.int8) if a.dtype in (jnp.int4, jnp.uint4) else np.asarray(a)


def devices_of(exported):
    return max(exported.nr_devices, 1)


def values_of(function, args, wanted):
    if wanted:
        return jax.tree.leaves(wanted(*args))
    values = interpreted(function, args, "on_wait")
    if any(np.isnan(np.asarray(v, np.float32)).any() for v in values):
        values = interpreted(function, args, "eager")
    return values


def count_one(case, made, wanted, options, folder):
    """What became of one kernel: "right", or what went wrong."""
    name, function, shapes, bound = case
    rng = np.random.default_rng(7)
    args = [jnp.asarray(made[i], s.dtype) if i in made else argument(rng, s)
            for i, s in enumerate(shapes)]
    path = f"{folder}/{name}"
    try:
        exported = lowered(function, args)
    except Exception as e:              # JAX itself may not lower it
        return f"not lowered: {(str(e) or repr(e)).splitlines()[0]}"
    with open(f"{path}.mlirbc", "wb") as f:
        f.write(exported.mlir_module_serialized)
    save_file({f"{i}": saved(a) for i, a in enumerate(args)}, f"{path}.inputs.safetensors")
    try:
        values = values_of(function, args, wanted)
    except Exception as e:
        return f"not interpreted: {(str(e) or repr(e)).splitlines()[0]}"
    save_file({f"{i}": saved(v) for i, v in enumerate(values)},
              f"{path}.outputs.safetensors")
    devices = devices_of(exported)
    tpu = options.tpu if devices == 1 else f"{options.tpu}-{devices * options.cores}"
    run = subprocess.run([options.systole, "exec", f"{path}.mlirbc", "--tpu", tpu,
                          "--backend", options.backend, "--inputs", f"{path}.inputs.safetensors",
                          "--expect", f"{path}.outputs.safetensors", "--tolerance", str(bound)],
                         capture_output=True, text=True, timeout=options.timeout)
    if run.returncode == 0:
        return "right"
    told = (run.stderr.strip() or run.stdout.strip()).splitlines()
    return told[-1] if told else f"status {run.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*",
                        default=[f"{HERE}/pallas/library.py", f"{HERE}/pallas/guide.py"])
    parser.add_argument("--tpu", default="v5e")
    parser.add_argument("--cores", type=int, default=1,
                        help="that the slice's name counts for a device: 2 of v4 and v5p")
    parser.add_argument("--backend", default="cores")
    parser.add_argument("--systole", default=os.path.join(HERE, "..", "..", "systole"))
    parser.add_argument("--only", default="")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--keep", help="a folder for the programs and their values")
    options = parser.parse_args()
    right = count = 0
    tell_chip(options.tpu)
    with tempfile.TemporaryDirectory() as made_here:
        folder = options.keep or made_here
        os.makedirs(folder, exist_ok=True)
        for path in options.files:
            for case, made, wanted in cases_of(path):
                if options.only not in case[0]:
                    continue
                begun = time.time()
                try:
                    told = count_one(case, made, wanted, options, folder)
                except subprocess.TimeoutExpired:
                    told = "no end"
                count += 1
                right += told == "right"
                print(f"{case[0]:28} {time.time() - begun:6.1f} s  {told}", flush=True)
    print(f"{right} of {count} kernels are right")
    return 0 if right == count else 1


if __name__ == "__main__":
    sys.exit(main())

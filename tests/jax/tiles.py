"""Holds tuned blocks of public servers against the simulator's best: for rows of a table (kernel, tpu,
arguments, tuned) the candidates are lowered and timed by `systole tune`, and the tuned blocks' loss
against the best is told: of the kernel's own time, and of what a host's clock shows, by which those
blocks were tuned: the kernel and the dispatch of a program before it.

Usage: tiles.py TABLE.csv [--kernel NAME] [--every N] [--limit N] [--dtype WORD] [--out FILE.csv]
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

import jax
import jax.export
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../examples/jax"))
import lower_variants  # noqa: E402
sys.path.insert(0, os.path.join(HERE, "pallas"))
import tuned as kernels  # noqa: E402

CHECKS = [jax.export.DisabledSafetyCheck.custom_call("tpu_custom_call")]
NEAR = 1.05
DISPATCH_US = 100       # of a program, as the chips' files have it (host.dispatch_us)


def lower(name, tpu, shapes, parameters, path):
    call = jax.jit(kernels.bound(name, parameters))
    with lower_variants.on_chip(tpu):
        exported = jax.export.export(call, platforms=["tpu"], disabled_checks=CHECKS)(*shapes)
    with open(path, "wb") as f:
        f.write(exported.mlir_module_serialized)


def candidates(name, arguments, tuned):
    """those of the kernel, the tuned one among them"""
    found = list(getattr(kernels, name + "_candidates")(arguments))
    own = {**found[0], **tuned}
    return found if own in found else [*found, own]


def tune(name, tpu, arguments, tuned, folder):
    shapes = getattr(kernels, name + "_shapes")(arguments)
    tried = candidates(name, arguments, tuned)
    columns = list(tuned)
    with open(f"{folder}/variants.csv", "w", newline="") as f:
        table = csv.writer(f)
        table.writerow(["file", *columns, "error"])
        for i, parameters in enumerate(tried):
            error = ""
            try:
                lower(name, tpu, shapes, parameters, f"{folder}/{i}")
            except Exception as e:  # a block that JAX refuses is a candidate that does not run
                error = str(e).splitlines()[0][:150]
            table.writerow(["" if error else i, *[parameters[c] for c in columns], error])
    command = [os.environ.get("SYSTOLE", "./systole"), "tune", folder, "--tpu", tpu, "--csv",
               f"{folder}/out.csv", "--seconds", "120"]
    for i, values in enumerate(getattr(kernels, name + "_inputs", lambda _: [])(arguments)):
        np.save(f"{folder}/{i}.npy", values)
        command += ["--input", f"{i}={folder}/{i}.npy"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if not os.path.exists(f"{folder}/out.csv"):
        raise RuntimeError((run.stderr.strip().splitlines() or ["no table"])[-1])
    with open(f"{folder}/out.csv") as f:
        return list(csv.DictReader(f))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("table")
    parser.add_argument("--kernel", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--dtype", default="", help="only rows whose arguments have this word")
    parser.add_argument("--out")
    options = parser.parse_args()
    with open(options.table) as f:
        rows = [r for r in csv.DictReader(f) if options.kernel in ("", r["kernel"]) and
                hasattr(kernels, r["kernel"]) and options.dtype in r["arguments"]]
    near = near_by_clock = total = 0
    out = csv.writer(open(options.out, "w", newline="")) if options.out else None
    for row in rows[::options.every][:options.limit]:
        tuned, arguments = json.loads(row["tuned"]), json.loads(row["arguments"])
        with tempfile.TemporaryDirectory() as folder:
            try:
                results = tune(row["kernel"], row["tpu"], arguments, tuned, folder)
            except Exception as e:
                results, why = [], str(e)[:200]
        done = [r for r in results if r["cycles"]]
        own = [r for r in done if all(str(tuned[k]) == r[k] for k in tuned)]
        total += 1
        if own:
            best = min(done, key=lambda r: int(r["cycles"]))
            loss = int(own[0]["cycles"]) / int(best["cycles"])
            near += loss <= NEAR
            by_clock = (float(own[0]["us"]) + DISPATCH_US) / (float(best["us"]) + DISPATCH_US)
            near_by_clock += by_clock <= NEAR
            words = {k: best[k] for k in tuned}
            text = f"{loss:.3f} of the best {words}, {by_clock:.3f} by the clock " \
                   f"({len(done)} of {len(results)} ran)"
        else:
            refused = [r["reason"] for r in results if all(str(tuned[k]) == r[k] for k in tuned)]
            loss, text = None, f"does not run: {refused[0] if refused else why}"
        print(f"{row['kernel']} {row['tpu']} {row['arguments']}: tuned {tuned}: {text}", flush=True)
        if out:
            out.writerow([row["kernel"], row["tpu"], row["arguments"], row["tuned"], loss, text])
    print(f"{near} of {total} tuned blocks within {100 * NEAR - 100:.0f} % of the best, "
          f"{near_by_clock} by the host's clock")


if __name__ == "__main__":
    main()

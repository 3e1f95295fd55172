"""Writes each program of tests/jax/programs as a StableHLO artifact for the TPU, with its inputs and
with what JAX makes of them on the CPU: NAME.mlirbc, NAME.inputs.safetensors,
NAME.outputs.safetensors, and a line of programs.csv.

    python tests/jax/export_programs.py FOLDER [NAME ...]"""
import importlib
import os
import sys

# programs for several devices are lowered for as many
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax  # noqa: E402
import numpy as np  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
sys.path.insert(0, HERE)
# places in the source are told by the names of files, wherever these lie
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
# products as f32 has them, so that results may be held to its bounds
jax.config.update("jax_default_matmul_precision", "highest")


def names():
    return sorted(f[:-3] for f in os.listdir(HERE) if f.endswith(".py") and f != "common.py")


def save(path, leaves):
    save_file({str(i): np.array(x, order="C") for i, x in enumerate(leaves)}, path)


def run(function, arguments, carry, steps):
    """leaves of the results after so many steps, the first `carry` of which go round"""
    leaves, tree = jax.tree.flatten(arguments)
    for _ in range(steps):
        results = jax.tree.leaves(function(*jax.tree.unflatten(tree, leaves)))
        leaves[:carry] = results[:carry]
    return results


def moved(leaves):
    """each float by a millionth of itself: what that changes is what rounding may change, about"""
    rng = np.random.default_rng(0)
    return [x * (1 + 1e-6 * rng.choice([-1, 1], x.shape)).astype(x.dtype)
            if x.dtype == np.float32 else x for x in map(np.asarray, leaves)]


def apart(a, b):
    if a.dtype.kind not in "fc" and a.dtype.name != "bfloat16":
        return 0.0
    a, b = np.asarray(a, np.complex128), np.asarray(b, np.complex128)
    is_number = np.isfinite(a) & np.isfinite(b)
    most = np.abs(b[is_number]).max(initial=0.0)
    return float(np.abs((a - b)[is_number]).max(initial=0.0) / most) if most else 0.0


def export(name, folder):
    p = importlib.import_module(name).program()
    places = {k: p[k] for k in ("in_shardings", "out_shardings") if p.get(k) is not None}
    function = jax.jit(p["function"], keep_unused=True, **places)
    arguments, carry, steps = p["arguments"], p["carry"], p["steps"]
    exported = jax.export.export(function, platforms=["tpu"],
                                 disabled_checks=[jax.export.DisabledSafetyCheck.platform()])(*arguments)
    leaves, tree = jax.tree.flatten(arguments)
    results = [np.asarray(x) for x in run(function, arguments, carry, steps)]
    others = run(function, jax.tree.unflatten(tree, moved(leaves)), carry, steps)
    sensitive = max([apart(np.asarray(b), a) for a, b in zip(results, others)])
    path = os.path.join(folder, name)
    with open(path + ".mlirbc", "wb") as f:
        f.write(exported.mlir_module_serialized)
    save(path + ".inputs.safetensors", [np.asarray(x) for x in leaves])
    save(path + ".outputs.safetensors", results)
    is_bf16 = name == "mixed_bf16"
    bound = max(2e-2 if is_bf16 else 2e-5, 20 * sensitive)
    return f"{name},{steps},{carry},{bound:.2g},{p.get('devices', 1)}"


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    wanted = sys.argv[2:] or names()
    lines = [export(n, folder) for n in wanted]
    with open(os.path.join(folder, "programs.csv"), "w") as f:
        f.write("name,steps,carry,bound,devices\n" + "\n".join(lines) + "\n")
    print(f"{len(lines)} programs, jax {jax.__version__}")


if __name__ == "__main__":
    main()

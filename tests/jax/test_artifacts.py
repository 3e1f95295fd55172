"""Artifacts that the installed JAX keeps to test its own compatibility, of all versions since 0.9,
are read by systole hlo. Those that call kernels of other machines are, too; whoever runs them is
told which call it is.
"""
import glob
import os
import subprocess
import sys
import tempfile

import jax

# What programs may not have here: sizes that only a call tells, complex numbers of two doubles.
REFUSED = ("has no bound", "c64 is the widest complex type")
SYSTOLE = os.environ.get("SYSTOLE", "./systole")


def entries(value):
    """Dictionaries with an artifact, wherever a file of test data has them."""
    if isinstance(value, dict):
        if "mlir_module_serialized" in value:
            yield value
        else:
            for inner in value.values():
                yield from entries(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from entries(inner)


def read(path):
    return subprocess.run([SYSTOLE, "hlo", path], capture_output=True, text=True)


def main():
    folder = os.path.join(os.path.dirname(jax.__file__), "_src", "internal_test_util",
                          "export_back_compat_test_data")
    count, refused, failed = 0, 0, []
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "program.mlirbc")
        for source in sorted(glob.glob(folder + "/**/*.py", recursive=True)):
            names = {"__name__": "data"}
            with open(source) as f:
                exec(compile(f.read(), source, "exec"), names)
            for key, value in list(names.items()):
                for entry in entries(value) if not key.startswith("__") else ():
                    with open(path, "wb") as f:
                        f.write(entry["mlir_module_serialized"])
                    done = read(path)
                    count += 1
                    if any(reason in done.stderr for reason in REFUSED):
                        refused += 1
                    elif done.returncode:
                        failed.append(f"{os.path.basename(source)} {key}: {done.stderr.strip()}")
    print(f"{count} artifacts, {refused} refused by name, {len(failed)} not read")
    for line in failed:
        print("  " + line)
    if count == 0:
        print("skipped: this JAX has no test data")
        return 77
    return 1 if failed else 0


sys.exit(main())

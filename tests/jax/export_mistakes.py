"""Writes tests/import/data/pallas_mistakes: the kernels of pallas/mistakes.py and mistakes_devices.py as
JAX lowers them for the TPU, as text, and tables of what finds each. Usage: export_mistakes.py FOLDER"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "pallas"))
import interpret  # noqa: E402, F401  # before jax
import jax  # noqa: E402
import mistakes  # noqa: E402
import mistakes_devices  # noqa: E402

jax.config.update("jax_hlo_source_file_canonicalization_regex", "^.*/")
jax.config.update("jax_traceback_in_locations_limit", 1)


def export(cases, folder, table_name):
    with open(f"{folder}/{table_name}.csv", "w") as table:
        table.write("name,found\n")
        for name, function, shapes, found in cases:
            text = jax.jit(function).trace(*shapes).lower(lowering_platforms=("tpu",)).as_text()
            with open(f"{folder}/{name}.mlir", "w") as f:
                f.write(text)
            table.write(f"{name},{found}\n")


if __name__ == "__main__":
    export(mistakes.CASES, sys.argv[1], "mistakes")
    export(mistakes_devices.CASES, sys.argv[1], "devices")

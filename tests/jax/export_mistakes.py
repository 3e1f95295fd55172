"""Writes tests/import/data/pallas_mistakes: the kernels of pallas/mistakes.py as JAX lowers them for
the TPU, as text, and a table of what finds each. Usage: export_mistakes.py FOLDER"""
import os
import sys

import jax

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "pallas"))
from mistakes import CASES  # noqa: E402

jax.config.update("jax_hlo_source_file_canonicalization_regex", "^.*/")
jax.config.update("jax_traceback_in_locations_limit", 1)


def main(folder):
    with open(f"{folder}/mistakes.csv", "w") as table:
        table.write("name,found\n")
        for name, function, shapes, found in CASES:
            text = jax.jit(function).trace(*shapes).lower(lowering_platforms=("tpu",)).as_text()
            with open(f"{folder}/{name}.mlir", "w") as f:
                f.write(text)
            table.write(f"{name},{found}\n")


if __name__ == "__main__":
    main(sys.argv[1])

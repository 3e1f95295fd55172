"""Programs of JAX, Flax, Optax and Keras, exported for the TPU now, run by systole exec on the host
and on simulated cores: their results must be those of JAX on the CPU, training steps over 20 steps."""
import csv
import os
import subprocess
import sys
import tempfile

SYSTOLE = os.environ.get("SYSTOLE", "./systole")
HERE = os.path.dirname(os.path.abspath(__file__))


def command(folder, row, *options):
    path = os.path.join(folder, row["name"])
    carry = ["--carry", f"0-{int(row['carry']) - 1}"] if row["carry"] != "0" else []
    return [SYSTOLE, "exec", path + ".mlirbc", "--inputs", path + ".inputs.safetensors",
            "--expect", path + ".outputs.safetensors", "--tolerance", row["bound"],
            "--steps", row["steps"], *carry, *options]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(HERE, "export_programs.py"), folder,
                        *sys.argv[1:]], check=True)
        with open(os.path.join(folder, "programs.csv")) as f:
            rows = list(csv.DictReader(f))
        for row in rows:
            for options in (["--backend", "host"], ["--tpu", "v5e" if row["devices"] == "1" else "v5e-8"]):
                run = subprocess.run(command(folder, row, *options), capture_output=True,
                                     text=True, check=False)
                if run.returncode != 0:
                    failed += 1
                    print(f"{row['name']} {' '.join(options)}:\n{run.stdout[-3000:]}{run.stderr}")
    print(f"{len(rows)} programs, {failed} runs failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

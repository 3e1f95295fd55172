"""Programs of a framework, run by systole exec on the host and on simulated cores, held against
what the framework itself computes."""
import os
import subprocess
import tempfile

SYSTOLE = os.environ.get("SYSTOLE", "./systole")
BOUND = "1e-4"                          # of a result's largest magnitude; integers are equal
WAYS = [["--backend", "host"], ["--tpu", "v5e"]]


def hold(programs, export, forms):
    """export(program, folder, forms) writes folder/FORM, in.safetensors and out.safetensors"""
    failed = 0
    for name, program in programs.items():
        with tempfile.TemporaryDirectory() as folder:
            export(program, folder, forms)
            for form in forms:
                for way in WAYS:
                    run = subprocess.run(
                        [SYSTOLE, "exec", f"{folder}/{form}", "--inputs", f"{folder}/in.safetensors",
                         "--expect", f"{folder}/out.safetensors", "--tolerance", BOUND,
                         "--precision", "highest", *way], capture_output=True, text=True, check=False)
                    if run.returncode != 0:
                        failed += 1
                        print(f"{name}, {form}, {' '.join(way)}:\n{run.stdout[-3000:]}{run.stderr}")
    print(f"{len(programs)} programs in {len(forms)} forms, {failed} runs failed")
    return failed != 0

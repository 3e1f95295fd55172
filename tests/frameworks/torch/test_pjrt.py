"""PyTorch/XLA, unmodified, on simulated TPU cores: an MLP, a ResNet-18 and a small GPT, twenty steps each, and
an MLP data-parallel on eight devices, beside PyTorch's CPU at the highest precision."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTOLE = os.environ.get("SYSTOLE", "./systole")
# Gradients of convolutions carry no precision, whatever set_mat_mul_precision was told: so all are asked
# to be exact by --precision.
BOUND = 1e-3                            # of the first loss
CASES = [("mlp", "tpu", "v5e-1"), ("gpt", "tpu", "v5e-1"), ("resnet18", "tpu", "v5e-1"),
         ("mlp", "spmd", "v5e-8"), ("mlp", "tpu", "v2-8")]


def losses(command, name):
    r = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in r.stdout.splitlines() if line.startswith("numbers ")]
    if r.returncode != 0 or len(lines) != 1:
        raise AssertionError(f"{name} ends with {r.returncode}: {r.stdout[-500:]}{r.stderr[-2000:]}")
    return [float(word) for word in lines[0].split()[1:]]


def main():
    failed = 0
    script = os.path.join(HERE, "pjrt_networks.py")
    for name, where, tpu in CASES:
        try:
            wanted = losses([sys.executable, script, name, "cpu"], f"{name} on the CPU")
            got = losses([SYSTOLE, "jax", "--tpu", tpu, "--precision", "highest", "--python", sys.executable,
                          script, name, where],
                         f"{name}, {where} on {tpu}")
            worst = max(abs(g - w) for g, w in zip(got, wanted)) / wanted[0]
            print(f"{name}, {where} on {tpu}: {len(got)} losses, off by {worst:.1e} of the first", flush=True)
            failed += not worst <= BOUND or len(got) != 20
        except AssertionError as e:
            print(f"FAILED: {e}", flush=True)
            failed += 1
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())

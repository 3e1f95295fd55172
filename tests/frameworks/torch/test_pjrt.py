"""PyTorch/XLA, unmodified, on simulated TPU cores: an MLP, a ResNet-18 and a small GPT, twenty steps each, and
an MLP data-parallel on eight devices, beside PyTorch's CPU at the highest precision. A loss may be off by
BOUND, or by twice what PyTorch is from itself, up to that step, where its parameters and pictures move by a
rounding or two: another order of sums is one more draw of such moves."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTOLE = os.environ.get("SYSTOLE", "./systole")
# Gradients of convolutions carry no precision, whatever set_mat_mul_precision was told: so all are asked
# to be exact by --precision.
BOUND = 1e-3                            # of the first loss
SEEDS = ["1", "2"]                      # of what moves
CASES = [("mlp", "tpu", "v5e-1"), ("gpt", "tpu", "v5e-1"), ("resnet18", "tpu", "v5e-1"),
         ("mlp", "spmd", "v5e-8"), ("mlp", "tpu", "v2-8")]


def losses(command, name):
    r = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in r.stdout.splitlines() if line.startswith("numbers ")]
    if r.returncode != 0 or len(lines) != 1:
        raise AssertionError(f"{name} ends with {r.returncode}: {r.stdout[-500:]}{r.stderr[-2000:]}")
    return [float(word) for word in lines[0].split()[1:]]


def on_cpu(script, name):
    """the losses, and how far each may be off"""
    command = [sys.executable, script, name, "cpu"]
    wanted = losses(command, f"{name} on the CPU")
    bound = [BOUND] * len(wanted)
    for seed in SEEDS:
        moved = losses(command + [seed], f"{name} on the CPU, moved")
        off = [2 * abs(m - w) / wanted[0] for m, w in zip(moved, wanted)]
        bound = [max(b, *off[:i + 1]) for i, b in enumerate(bound)]
    return wanted, bound


def main():
    failed, cpu = 0, {}
    script = os.path.join(HERE, "pjrt_networks.py")
    for name, where, tpu in CASES:
        try:
            if name not in cpu:
                cpu[name] = on_cpu(script, name)
            wanted, bound = cpu[name]
            got = losses([SYSTOLE, "jax", "--tpu", tpu, "--precision", "highest", "--python", sys.executable,
                          script, name, where],
                         f"{name}, {where} on {tpu}")
            off = [abs(g - w) / wanted[0] for g, w in zip(got, wanted)]
            print(f"{name}, {where} on {tpu}: {len(got)} losses, off by {max(off):.1e} of the first, may be by "
                  f"{bound[0]:.1e} to {bound[-1]:.1e}", flush=True)
            failed += len(got) != 20 or not all(o <= b for o, b in zip(off, bound))
        except AssertionError as e:
            print(f"FAILED: {e}", flush=True)
            failed += 1
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())

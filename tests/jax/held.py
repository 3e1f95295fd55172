"""Runs scripts of examples/jax on JAX's CPU backend and on simulated devices, for tests that hold the
lines of numbers that they print against each other."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "examples", "jax")
SYSTOLE = os.environ.get("SYSTOLE", "./systole")


def numbers_of(run, name):
    lines = [line for line in run.stdout.splitlines() if line.startswith("numbers ")]
    if run.returncode != 0 or len(lines) != 1:
        raise AssertionError(f"{name} ends with {run.returncode}: {run.stdout}{run.stderr}")
    return [float(word) for word in lines[0].split()[1:]]


def start(command, environment, timeout=900):
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True,
                          timeout=timeout, check=False)


def on_cpu(script, *arguments, devices=8):
    """its numbers on so many of JAX's own devices"""
    run = start([sys.executable, os.path.join(EXAMPLES, script), *arguments],
                {"JAX_PLATFORMS": "cpu",
                 "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"})
    return numbers_of(run, script)


def on_tpu(tpu, script, *arguments, options=(), environment=None):
    """its numbers by `systole jax`, and the process as it ended"""
    run = start([SYSTOLE, "jax", "--tpu", tpu, "--python", sys.executable, *options,
                 os.path.join(EXAMPLES, script), *arguments], environment or {})
    return numbers_of(run, f"{script} on {tpu}"), run


def compare(name, got, wanted, absolute, relative):
    assert len(got) == len(wanted), f"{name}: {len(got)} numbers, {len(wanted)} wanted"
    worst = max(abs(g - w) - relative * abs(w) for g, w in zip(got, wanted))
    print(f"{name}: {len(got)} numbers, off by {max(abs(g - w) for g, w in zip(got, wanted)):.2e} at most")
    assert worst <= absolute, f"{name}: {got}, wanted are {wanted}"

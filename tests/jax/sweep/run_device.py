"""Runs cases through JAX itself on the simulated TPU: operation by operation as the interpreter
meets them, and jitted; the results are held against those of JAX on the CPU."""

import time

import jax
import numpy as np

from sweep.case import difference, plain_type


def leaves(function, args, device):
    with jax.default_device(device):
        placed = [jax.device_put(a, device) for a in args]
        return [np.asarray(plain_type(x)) for x in jax.tree_util.tree_leaves(function(*placed))]


def compare(expected, actual, tolerance):
    if len(expected) != len(actual):
        return f"{len(actual)} results where {len(expected)} are due"
    for i, (want, have) in enumerate(zip(expected, actual)):
        words = difference(want, have, tolerance)
        if words:
            return f"result {i}: {words}"
    return None


def run(case, ways):
    """(what became of it, a word on why, seconds), as run_exec.run does."""
    try:
        if case.on_devices:
            expected = [
                np.asarray(plain_type(x))
                for x in jax.tree_util.tree_leaves(case.on_devices(jax.devices("cpu"))(*case.args))
            ]
        else:
            expected = leaves(jax.jit(case.function), case.args, jax.devices("cpu")[0])
    except Exception as error:
        return "skipped", f"CPU: {type(error).__name__}: {str(error)[:300]}", 0.0
    begin = time.time()
    for way in ways:
        if way == "jit" and case.on_devices and case.jit_only:
            continue  # it says by itself what is jitted
        try:
            if case.on_devices:
                function = case.on_devices(jax.devices("tpu"))
                function = jax.jit(function) if way == "jit" else function
                actual = [
                    np.asarray(plain_type(x))
                    for x in jax.tree_util.tree_leaves(function(*case.args))
                ]
            else:
                function = jax.jit(case.function) if way == "jit" else case.function
                actual = leaves(function, case.args, jax.devices("tpu")[0])
        except Exception as error:
            return (
                "refused",
                f"{way}: {type(error).__name__}: {str(error)[:600]}",
                time.time() - begin,
            )
        words = compare(expected, actual, case.tolerance)
        if words:
            return "wrong", f"{way}: {words}", time.time() - begin
    return "right", "", time.time() - begin

"""Draws cases, runs them, and tells what became of them by area."""

import argparse
import collections
import json
import os
import sys
import warnings
import zlib

warnings.filterwarnings("ignore")
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
)

import jax
import jax.numpy as jnp
import numpy as np
import seeds

from sweep import (
    areas_control,
    areas_elementwise,
    areas_lax,
    areas_numpy,  # noqa: F401
    areas_odd,
    areas_random,
    areas_scipy,
    areas_sharding,
    behaviour,
    behaviour_arrays,  # noqa: F401
    behaviour_programs,  # noqa: F401
    run_device,
    run_exec,
)
from sweep.areas import ENTRIES
from sweep.case import Case
from sweep.draw import Draw


def scalar_of(function):
    """The sum of all real floating results: what a gradient is taken of."""

    def total(*args):
        leaves = jax.tree_util.tree_leaves(function(*args))
        return sum(
            jnp.sum(jnp.real(x).astype("float32"))
            for x in leaves
            if jnp.issubdtype(x.dtype, jnp.inexact)
        )

    return total


def transformed(d, name, function, args):
    """The case itself, its gradient, its forward derivative or its map over a batch."""
    real = [i for i, a in enumerate(args) if np.asarray(a).dtype == np.float32]
    which = d.integer(0, 5)
    if which == 0 and real:
        return name + ", gradient", jax.grad(scalar_of(function), argnums=tuple(real)), args
    if which == 1 and len(real) == len(args) and args:
        tangents = [np.ones_like(a) for a in args]
        return name + ", forward derivative", lambda *a: jax.jvp(function, a, tuple(tangents)), args
    if which == 2 and args and all(np.asarray(a).ndim for a in args[:1]):
        stacked = [np.stack([args[0], args[0][..., ::-1]])]
        return (
            name + ", map",
            jax.vmap(function, in_axes=(0,) + (None,) * (len(args) - 1)),
            stacked + list(args[1:]),
        )
    return name, function, args


def draw(area, number, seed):
    """Case `number` of an area; entries follow each other."""
    entries = ENTRIES[area]
    name, make, tolerance, jit_only, grad = entries[number % len(entries)]
    d = Draw(zlib.crc32(f"{area}/{name}/{number}/{seed}".encode()))
    function, args = make(d)
    args = [np.asarray(a) for a in args]
    if area == "sharding":
        return Case(
            area,
            f"{area}/{number}/{seed} {name}",
            function(jax.devices("cpu")),
            args,
            tolerance,
            jit_only,
            on_devices=function,
        )
    if grad:
        name, function, args = transformed(d, name, function, args)
    return Case(area, f"{area}/{number}/{seed} {name}", function, args, tolerance, jit_only)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int)
    parser.add_argument("--cases", type=int, help="of each area (default: each entry once)")
    parser.add_argument("--areas", default=",".join(ENTRIES))
    parser.add_argument("--case", action="append", help="AREA/NUMBER/SEED, one by itself")
    parser.add_argument("--ways", default="jit,eager", help="how JAX runs them")
    parser.add_argument("--record", help="what became of each, a line of JSON a case")
    parser.add_argument("--exec", action="store_true", help="exported, by `systole exec`")
    parser.add_argument("--keep", help="with --exec: folder for the program of the last case")
    parser.add_argument("options", nargs="*", help="of `systole exec`, behind --")
    return parser.parse_args()


def listed(areas, cases, seed):
    return [(area, number, seed) for area in areas for number in range(cases or len(ENTRIES[area]))]


def main():
    given = arguments()
    jax.config.update("jax_numpy_dtype_promotion", "standard")
    if given.case:
        todo = [(one.rsplit("/", 2)[0], *map(int, one.rsplit("/", 2)[1:])) for one in given.case]
        return run_all(todo, given)
    if given.seed is not None or given.exec:
        return run_all(listed(given.areas.split(","), given.cases, given.seed or 1), given)
    today = seeds.of_today()
    print(f"cases that roll: --seed {today}", flush=True)
    run_all(listed(given.areas.split(","), 6, today), given)
    print("fixed cases:", flush=True)
    given.ways = "jit"
    failed = run_all(listed(given.areas.split(","), None, 1), given)
    return behaviour.run_checks() or failed


def run_all(todo, given):
    counts = collections.defaultdict(collections.Counter)
    record = open(given.record, "a") if given.record else None
    for area, number, seed in todo:
        try:
            case = draw(area, number, seed)
        except Exception as error:
            counts[area]["undrawn"] += 1
            print(f"undrawn {area}/{number}/{seed}: {type(error).__name__} {str(error)[:150]}")
            continue
        if given.exec:
            state, words, took = run_exec.run(
                case, given.options or ["--tpu", "v5e-8"], keep=given.keep
            )
        else:
            state, words, took = run_device.run(case, given.ways.split(","))
        counts[area][state] += 1
        if state not in ("right", "skipped"):
            print(f"{state} {case.name}: {words}", flush=True)
        if took > 30:
            print(f"long {case.name}: {took:.1f} s", flush=True)
        if record:
            record.write(json.dumps([area, case.name, state, words, took]) + "\n")
            record.flush()
    for area, count in counts.items():
        print(f"{area:20s} " + ", ".join(f"{n} {state}" for state, n in sorted(count.items())))
    return any(c["wrong"] + c["refused"] + c["crash"] + c["slow"] for c in counts.values())

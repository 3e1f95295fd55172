"""Lowers a function with a kernel of Pallas for the TPU, once for each combination of parameters, into a
folder that `systole tune` reads. No TPU is needed.

    python lower_variants.py pallas_matmul.py:matmul --arg 'bf16[1024,1024]' --arg 'bf16[1024,1024]' \\
        --vary block_m=128,256,512 --vary block_n=128,256 --out variants

The function is called as function(*arrays, **parameters). Without --arg the script says what its
arguments are: function_arguments(**parameters), or function_arguments, gives arrays or
jax.ShapeDtypeStructs. What cannot be lowered is listed with JAX's reason.
"""
import argparse
import ast
import contextlib
import csv
import functools
import importlib.util
import itertools
import os
import re
import sys
import time

import jax
import jax.export
import jax.numpy as jnp

KINDS = {"v4": ("TPU v4", 2), "v5e": ("TPU v5 lite", 1), "v5p": ("TPU v5", 2),
         "v6e": ("TPU v6 lite", 1), "v7x": ("TPU7x", 1)}
SHORT = {"f32": "float32", "bf16": "bfloat16", "f16": "float16", "s32": "int32", "i32": "int32",
         "s8": "int8", "i8": "int8", "u8": "uint8", "u32": "uint32", "f8e4m3fn": "float8_e4m3fn",
         "f8e5m2": "float8_e5m2", "s4": "int4", "i4": "int4"}


def array_of(text):
    """bf16[1024,512]"""
    match = re.fullmatch(r"(\w+)\[([\d, ]*)\]", text)
    if not match:
        raise SystemExit(f'"{text}" is no array: wanted is a type and its sizes, bf16[1024,512]')
    shape = tuple(int(n) for n in match[2].split(",") if n.strip())
    return jax.ShapeDtypeStruct(shape, jnp.dtype(SHORT.get(match[1], match[1])))


def value_of(text):
    """a number, True, None or a tuple where it is one, else the word itself"""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def load(place):
    path, _, name = place.rpartition(":")
    if not path:
        raise SystemExit(f'"{place}" names no function: wanted is SCRIPT.py:FUNCTION')
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("kernel_script", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name), getattr(module, name + "_arguments", None)


def on_chip(tpu):
    """kernels that ask for the chip are told of this one"""
    if not tpu:
        return contextlib.nullcontext()
    kind, cores = KINDS[tpu]
    device = jax.sharding.AbstractDevice(device_kind=kind, num_cores=cores, platform="tpu")
    return jax.sharding.use_abstract_mesh(
        jax.sharding.AbstractMesh((), (), abstract_device=device))


def lower(function, arguments, parameters, tpu):
    checks = [jax.export.DisabledSafetyCheck.custom_call("tpu_custom_call")]
    with on_chip(tpu):
        call = jax.jit(functools.partial(function, **parameters))
        exported = jax.export.export(call, platforms=["tpu"], disabled_checks=checks)(*arguments)
    return exported.mlir_module_serialized


def reason_of(error):
    """the first line that says something, without an address in it"""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]


def variants(axes):
    names = [name for name, _ in axes]
    for values in itertools.product(*[values for _, values in axes]):
        yield dict(zip(names, values))


def write_all(options, axes):
    function, told = load(options.function)
    all_variants = list(variants(axes))
    os.makedirs(options.out, exist_ok=True)
    began = time.time()
    with open(os.path.join(options.out, "variants.csv"), "w", newline="") as f:
        table = csv.writer(f)
        table.writerow(["file"] + [name for name, _ in axes] + ["error"])
        for i, texts in enumerate(all_variants):
            parameters = {name: value_of(text) for name, text in texts.items()}
            file, error = f"variant{i:04}.mlirbc", ""
            try:
                arguments = [array_of(a) for a in options.arg]
                if not arguments and told is not None:
                    arguments = told(**parameters) if callable(told) else told
                body = lower(function, arguments, parameters, options.tpu)
                with open(os.path.join(options.out, file), "wb") as program:
                    program.write(body)
            except Exception as e:  # whatever a user's function raises is a variant's reason
                file, error = "", reason_of(e)
            table.writerow([file] + list(texts.values()) + [error])
            left = (time.time() - began) / (i + 1) * (len(all_variants) - i - 1)
            if sys.stderr.isatty():
                print(f"\rlowered {i + 1} of {len(all_variants)}, {left:.0f} s left ", end="",
                      file=sys.stderr)
    print(f"{len(all_variants)} variants in {options.out}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("function", metavar="SCRIPT.py:FUNCTION")
    parser.add_argument("--vary", action="append", default=[], metavar="NAME=A,B,C", required=True)
    parser.add_argument("--arg", action="append", default=[], metavar="TYPE[SIZES]")
    parser.add_argument("--tpu", choices=sorted(KINDS), help="for kernels that ask for the chip")
    parser.add_argument("--out", required=True, metavar="DIR")
    options = parser.parse_args()
    axes = []
    for text in options.vary:
        name, _, values = text.partition("=")
        if not values:
            raise SystemExit(f'--vary "{text}": wanted is NAME=A,B,C')
        axes.append((name, values.split(",")))
    write_all(options, axes)


if __name__ == "__main__":
    main()

"""Runs cases by `systole exec`: each is exported for the TPU, its program run with the case's
arguments, its results held against JAX's own on the CPU."""

import os
import shutil
import subprocess
import tempfile
import time

import jax
import ml_dtypes
import numpy as np

from sweep.case import difference, plain_type

SYSTOLE = os.environ.get("SYSTOLE", "./systole")

# Names of element types in .safetensors files.
SAFETENSORS_NAMES = {
    "bool": "BOOL",
    "int8": "I8",
    "uint8": "U8",
    "int16": "I16",
    "uint16": "U16",
    "int32": "I32",
    "uint32": "U32",
    "int64": "I64",
    "uint64": "U64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}


class CannotExport(Exception):
    """JAX itself refuses the case for a TPU, or the file cannot hold its types."""


def write_safetensors(path, arrays):
    import json

    header, at = {}, 0
    data = []
    for name, array in arrays.items():
        kind = SAFETENSORS_NAMES.get(array.dtype.name)
        if kind is None:
            raise CannotExport(f"no name for {array.dtype.name} in the file")
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [at, at + len(raw)],
        }
        at += len(raw)
        data.append(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + b"".join(data))


def read_safetensors(path):
    import json

    types = {kind: name for name, kind in SAFETENSORS_NAMES.items()}
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(size))
        data = f.read()
    result = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        kind = types[entry["dtype"]]
        dtype = np.dtype(getattr(ml_dtypes, kind)) if hasattr(ml_dtypes, kind) else np.dtype(kind)
        begin, end = entry["data_offsets"]
        result[name] = np.frombuffer(data[begin:end], dtype).reshape(entry["shape"])
    return result


def export(case):
    """The case's program for a TPU, and the arguments that it keeps."""
    checks = [
        jax.export.DisabledSafetyCheck.platform(),
        *(
            jax.export.DisabledSafetyCheck.custom_call(name)
            for name in (
                "Eigh",
                "Qr",
                "LuDecomposition",
                "ProductOfElementaryHouseholderReflectors",
                "ApproxTopK",
                "TopK",
            )
        ),
    ]
    try:
        exported = jax.export.export(
            jax.jit(case.function), platforms=["tpu"], disabled_checks=checks
        )(*case.args)
    except Exception as error:
        raise CannotExport(f"{type(error).__name__}: {str(error)[:300]}") from error
    flat = jax.tree_util.tree_leaves(case.args)
    kept = [np.asarray(plain_type(flat[i])) for i in exported.module_kept_var_idx]
    kept = [
        (
            a.astype(v.dtype)
            if v.dtype != a.dtype and not jax.dtypes.issubdtype(v.dtype, jax.dtypes.prng_key)
            else a
        )
        for a, v in zip(kept, (exported.in_avals[i] for i in exported.module_kept_var_idx))
    ]
    return exported.mlir_module_serialized, kept


def run(case, options, seconds=60, keep=None):
    """(what became of it, a word on why, seconds): right, wrong, refused, crash, slow, skipped."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            module, args = export(case)
            write_safetensors(f"{folder}/in.safetensors", {str(i): a for i, a in enumerate(args)})
            expected = [
                plain_type(x) for x in jax.tree_util.tree_leaves(jax.jit(case.function)(*case.args))
            ]
        except CannotExport as error:
            return "skipped", str(error), 0.0
        except Exception as error:
            return "skipped", f"CPU: {type(error).__name__}: {str(error)[:300]}", 0.0
        with open(f"{folder}/f.mlirbc", "wb") as f:
            f.write(module)
        if keep:
            shutil.copytree(folder, keep, dirs_exist_ok=True)
        begin = time.time()
        command = [SYSTOLE, "exec", f"{folder}/f.mlirbc", "--out", f"{folder}/out", *options]
        if args:
            command += ["--inputs", f"{folder}/in.safetensors"]
        if "host" not in options:
            command += ["--no-trace"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            return "slow", f"more than {seconds} s", time.time() - begin
        took = time.time() - begin
        if done.returncode == 1:
            return "refused", done.stderr.strip()[-600:].replace(folder, ""), took
        if done.returncode != 0:
            return "crash", f"status {done.returncode}: {done.stderr.strip()[-600:]}", took
        outputs = read_safetensors(f"{folder}/out/outputs.safetensors") if expected else {}
        for i, want in enumerate(expected):
            have = outputs.get(str(i))
            if have is None:
                return "wrong", f"no result {i}", took
            want = np.asarray(want)
            if have.dtype != want.dtype and have.dtype.itemsize == want.dtype.itemsize == 1:
                have = have.astype(want.dtype)
            words = difference(want, have, case.tolerance)
            if words:
                return "wrong", f"result {i}: {words}", took
        return "right", "", took

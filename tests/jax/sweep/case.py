"""A case of the sweep: a function, its arguments as NumPy arrays, and how far its results may be
from those of JAX on the CPU."""

import dataclasses
from typing import Any, Callable

import jax
import ml_dtypes
import numpy as np

# The tolerance, absolute and relative, that JAX's own tests take for a type by default.
DEFAULT_TOLERANCE = {
    "float32": 1e-6,
    "complex64": 1e-6,
    "float16": 1e-3,
    "bfloat16": 1e-2,
    "float8_e4m3fn": 1e-1,
    "float8_e4m3b11fnuz": 1e-1,
    "float8_e5m2": 1e-1,
    "float8_e4m3": 1e-1,
    "float8_e3m4": 1e-1,
    "float8_e4m3fnuz": 1e-1,
    "float8_e5m2fnuz": 1e-1,
    "float8_e8m0fnu": 1.0,
    "float4_e2m1fn": 1.0,
}


@dataclasses.dataclass
class Case:
    """`area` is what the record counts by; `tolerance` None means that of the type; `on_devices`
    makes the function for eight devices, where it needs them."""

    area: str
    name: str
    function: Callable[..., Any]
    args: list
    tolerance: float | None = None
    jit_only: bool = False
    on_devices: Callable[..., Any] | None = None


def plain(array):
    """The array with a type that NumPy itself compares: keys as bits, small floats as f32."""
    if isinstance(array, jax.Array) and jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key):
        array = jax.random.key_data(array)
    array = np.asarray(array)
    if array.dtype == jax.dtypes.float0:
        return array.astype(bool)
    if array.dtype.kind == "V" or array.dtype.name in DEFAULT_TOLERANCE:
        if array.dtype.name not in ("float32", "complex64"):
            return array.astype(np.float32)
    if array.dtype.name in ("int2", "int4", "uint2", "uint4"):
        return array.astype(np.int32)
    return array


def difference(expected, actual, tolerance):
    """None where two results agree, else a sentence on the worst place."""
    expected, actual = np.asarray(plain_type(expected)), np.asarray(plain_type(actual))
    if expected.dtype != actual.dtype:
        return f"type {actual.dtype.name} where {expected.dtype.name} is due"
    if expected.shape != actual.shape:
        return f"shape {actual.shape} where {expected.shape} is due"
    bound = DEFAULT_TOLERANCE.get(expected.dtype.name, 0)
    if bound and tolerance is not None:
        bound = max(tolerance, bound)
    want, have = plain(expected), plain(actual)
    if bound == 0:
        wrong = want != have
    else:
        with np.errstate(all="ignore"):
            wrong = ~np.isclose(have, want, rtol=bound, atol=bound, equal_nan=True)
    if not np.any(wrong):
        return None
    place = tuple(int(i[0]) for i in np.nonzero(wrong)) if wrong.ndim else ()
    return (
        f"{int(np.sum(wrong))} of {wrong.size} {expected.dtype.name} differ, at {place} "
        f"{have[place]} where {want[place]} is due"
    )


def plain_type(array):
    """Keys as their bits; anything else as it is."""
    if isinstance(array, jax.Array) and jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(array)
    return array


def wide(dtype):
    """The NumPy type behind a name, the small ones of ml_dtypes too."""
    return np.dtype(getattr(ml_dtypes, dtype)) if hasattr(ml_dtypes, dtype) else np.dtype(dtype)

"""JAX's TPU interpret mode on the CPU, for kernels that ask for the chip and for several devices.

Import it before jax: it says how many devices the CPU has.
"""
import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("NPROC", "16")    # threads: devices wait for each other in callbacks

import jax  # noqa: E402
from jax._src.pallas.mosaic import tpu_info  # noqa: E402
from jax.experimental.pallas import tpu as pltpu  # noqa: E402

KINDS = {"v3": ("TPU v3", 1), "v4": ("TPU v4", 1), "v5e": ("TPU v5 lite", 1), "v5p": ("TPU v5", 1),
         "v6e": ("TPU v6 lite", 1), "v7x": ("TPU7x", 1)}


def tell_chip(tpu):
    """Kernels that ask for the chip are told of this one, though the device is a CPU."""
    kind, cores = KINDS[tpu]
    chip = tpu_info.chip_version_from_device_kind(kind)
    tpu_info.registry["cpu"] = lambda: tpu_info.get_tpu_info_for_chip(chip, cores)


def interpreted(function, args, mode="on_wait"):
    """What interpret mode makes of it; `mode` is when it carries out copies."""
    with pltpu.force_tpu_interpret_mode(pltpu.InterpretParams(dma_execution_mode=mode)):
        return jax.tree.leaves(jax.jit(function)(*args))

"""The memory of a simulated device is as large as the chip's: what does not fit is refused by name."""
import pjrt

pjrt.use("tiny-2")

import jax
import jax.numpy as jnp
import numpy as np

MIB = 1 << 20


def refused(function):
    try:
        jax.block_until_ready(function())
    except jax.errors.JaxRuntimeError as error:
        assert "RESOURCE_EXHAUSTED" in str(error), error
        return str(error)
    raise AssertionError("no error")


def test_an_array_that_does_not_fit():
    assert jax.devices()[0].memory_stats()["bytes_limit"] == 32 * MIB
    zeros = np.zeros(40 * MIB, np.int8)
    assert "TPU_1 is out of memory" in refused(lambda: jax.device_put(zeros, jax.devices()[1]))


def test_a_program_that_does_not_fit_tells_what_is_alive():
    text = refused(lambda: jax.jit(lambda x: jnp.outer(x, x) @ jnp.outer(x, x))(jnp.ones(4096)))
    assert "alive" in text and "test_pjrt_memory.py" in text, text


def test_memory_that_a_launch_needs_counts_while_it_runs():
    device = jax.devices()[0]
    program = jax.jit(lambda x: (jnp.outer(x, x) @ jnp.outer(x, x)).sum())
    x = jax.device_put(np.ones(1024, np.float32), device)
    assert program.lower(x).compile().memory_analysis().temp_size_in_bytes > 7 * MIB
    before = device.memory_stats()["bytes_in_use"]
    assert float(program(x)) == 2.0 ** 30
    assert device.memory_stats()["peak_bytes_in_use"] > before + 7 * MIB
    held = jax.device_put(np.zeros(26 * MIB, np.int8), device)
    assert "while it runs" in refused(lambda: program(x))
    del held
    assert float(program(x)) == 2.0 ** 30
    assert device.memory_stats()["bytes_in_use"] == before


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name, "holds", flush=True)

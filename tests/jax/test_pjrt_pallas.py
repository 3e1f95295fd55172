"""Kernels of Pallas through JAX on a simulated slice: between its devices, and with narrow types."""
import os
import sys

import pjrt

pjrt.use("v5e-4")

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "pallas"))
import guide
import models

ROWS = np.random.default_rng(3).standard_normal((256, 128)).astype(np.float32)
PARTS = ROWS.reshape(4, 64, 128)


def test_a_copy_to_the_right_neighbour_arrives_there():
    got = np.asarray(jax.jit(guide.right_permute)(ROWS)).reshape(PARTS.shape)
    np.testing.assert_array_equal(got, np.roll(PARTS, 1, 0))


def test_a_ring_gathers_all_on_every_device():
    got = np.asarray(jax.jit(guide.ring_gather)(ROWS)).reshape(4, *PARTS.shape)
    for device in range(4):
        np.testing.assert_array_equal(got[device], PARTS)


def test_a_ring_sums_on_every_device():
    got = np.asarray(jax.jit(guide.ring_sum)(ROWS)).reshape(PARTS.shape)
    for device in range(4):
        np.testing.assert_allclose(got[device], PARTS.sum(0), atol=1e-5)


def test_eight_bit_floats_go_in_and_come_out():
    x = jnp.asarray(ROWS[:32], jnp.float8_e4m3fn)
    w = jnp.asarray(ROWS[:128], jnp.float8_e4m3fn)
    wanted = np.asarray(x, np.float32) @ np.asarray(w, np.float32)
    np.testing.assert_allclose(np.asarray(jax.jit(models.fp8_both)(x, w)), wanted, rtol=1e-5,
                               atol=1e-4)
    wide = jnp.asarray(np.tile(ROWS[:32], (1, 2)))
    got = jax.jit(models.fp8_quantize)(wide)
    np.testing.assert_array_equal(np.asarray(got, np.float32),
                                  np.asarray(jnp.clip(wide * 4, -448, 448).astype(jnp.float8_e4m3fn),
                                             np.float32))


def test_four_bit_weights_are_scaled_in_groups():
    w = jnp.asarray(np.random.default_rng(5).integers(-8, 8, (256, 128)), jnp.int4)
    x, scale = jnp.asarray(ROWS[:16].repeat(2, 1), jnp.bfloat16), jnp.full((2, 128), 0.5)
    wanted = np.asarray(x, np.float32) @ np.asarray(w, np.float32) * 0.5
    np.testing.assert_allclose(np.asarray(jax.jit(models.int4_product)(x, w, scale)), wanted,
                               rtol=1e-4, atol=1e-2)


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(name, "holds", flush=True)

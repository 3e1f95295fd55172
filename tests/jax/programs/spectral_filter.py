"""Fourier transforms: a filter of real signals, a complex spectrum, a convolution by products."""
import jax.numpy as jnp

from common import arrays, forward


def filtered(x, kernel):
    spectrum = jnp.fft.rfft(x, axis=1)
    low = jnp.fft.irfft(spectrum * jnp.exp(-0.02 * jnp.arange(spectrum.shape[1]) ** 2), n=x.shape[1])
    whole = jnp.fft.fft2(x + 1j * jnp.roll(x, 3, axis=1))
    length = x.shape[1] + kernel.shape[0] - 1
    wide = jnp.fft.irfft(jnp.fft.rfft(x, length) * jnp.fft.rfft(kernel, length), length)
    return low, jnp.abs(whole), jnp.angle(whole[:, 1:5]), wide, spectrum.real, spectrum.imag


def program():
    normal, _ = arrays(19)
    return forward(filtered, normal(6, 48), normal(7))

"""Calls from the device to the host: a value that the host computes (pure_callback), one that it
keeps (io_callback), and lines that it prints (debug.print) while a loop runs."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

kept = []


def keep(v):
    kept.append(float(v))


@jax.jit
def hypotenuse(a, b):
    like = jax.ShapeDtypeStruct(a.shape, a.dtype)
    return 2 * jax.pure_callback(lambda a, b: np.hypot(a, b).astype(a.dtype), like, a, b)


@jax.jit
def halve(x):
    def body(i, x):
        jax.debug.print("round {i}: sum {s:.4f}", i=i, s=x.sum(), ordered=True)
        io_callback(keep, None, x[0], ordered=True)
        return 0.5 * x

    return jax.lax.fori_loop(0, 4, body, x)


a = np.linspace(1, 4, 12, dtype=np.float32).reshape(3, 4)
c = hypotenuse(a, 2 * a)
h = halve(jnp.arange(1.0, 9.0))
jax.effects_barrier()
print("numbers", *[f"{float(v):.6f}" for v in [*np.asarray(c).ravel(), *h, *kept]])

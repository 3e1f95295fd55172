"""For tests of JAX on simulated devices: to be imported before jax is.

    import pjrt; pjrt.use("v5e-8")
    import jax
"""
import os


def use(slice_name, **settings):
    """JAX's platform tpu is the library of this build; settings are its variables, without SYSTOLE_."""
    library = os.environ.get("SYSTOLE_PJRT", "build/libsystole_pjrt.so")
    os.environ["JAX_PLATFORMS"] = "tpu,cpu"
    os.environ["TPU_LIBRARY_PATH"] = os.path.abspath(library)
    os.environ["SYSTOLE_TPU"] = slice_name
    for name, value in settings.items():
        os.environ["SYSTOLE_" + name] = str(value)

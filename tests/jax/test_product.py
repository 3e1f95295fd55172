"""JAX as pinned writes a matrix product as StableHLO: what readers of its text are tested with."""
import os
import sys

import jax
import jax.numpy as jnp


def pinned(name):
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "requirements.txt"), encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(name + "=="):
                return line.strip().split("==")[1]
    return None


def main():
    if jax.__version__ != pinned("jax"):
        return f"JAX is {jax.__version__}, pinned is {pinned('jax')}"
    left = jax.ShapeDtypeStruct((64, 32), jnp.bfloat16)
    right = jax.ShapeDtypeStruct((32, 16), jnp.bfloat16)
    product = jax.jit(lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.float32))
    text = product.lower(left, right).as_text(dialect="stablehlo")
    for part in ("stablehlo.dot_general", "tensor<64x32xbf16>", "tensor<32x16xbf16>",
                 "tensor<64x16xf32>"):
        if part not in text:
            return f"the text of a product lacks {part}:\n{text}"
    return None


if __name__ == "__main__":
    sys.exit(main())

"""Writes the programs of tests/import/data: each as a StableHLO artifact of some version
(NAME.mlirbc) with the text that StableHLO itself reads out of it (NAME.mlir), as HLO's bytes
(NAME.hlo.pb) with HLO's text (NAME.hlo.txt), one as jax.export saves it (exported.bin), one as raw
MLIR bytecode (raw.mlirbc). Not a test: run it by hand, with the packages of requirements.txt, when
a program is added: python make_programs.py FOLDER.
"""
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax.sharding import Mesh, PartitionSpec
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")      # no paths of a host
F32 = jnp.float32


def train_step(w, b, x, y):
    def loss(w, b):
        h = jnp.tanh(x @ w + b)
        return jnp.mean((h - y) ** 2)

    value, (dw, db) = jax.value_and_grad(loss, argnums=(0, 1))(w, b)
    return value, w - 0.5 * dw, b - 0.5 * db


def control(x, n):
    x = lax.fori_loop(0, n, lambda i, v: v * 0.5 + i.astype(F32), x)
    x = lax.cond(n > 3, lambda v: jnp.sin(v), lambda v: v - x[0], x)
    x = lax.switch(n % 3, [lambda v: v, lambda v: -v, lambda v: v + 1], x)
    _, sums = lax.scan(lambda c, v: (c + v, c), jnp.float32(0), x)
    return sums, lax.while_loop(lambda s: s[1] < 9, lambda s: (s[0] * 2, s[1] + 1), (x, n))


def indices(x, i, v):
    a = x.at[i].add(v)
    b = jnp.take(x, i, axis=1, mode="clip")
    c = jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1)
    d = lax.dynamic_slice(x, (i[0], i[1]), (2, 3))
    e = lax.dynamic_update_slice(x, d, (i[1], i[0]))
    return a, b, c, e, jnp.sort(x, axis=0)[::2, 1:4], lax.top_k(x, 2)


def images(x, k):
    y = lax.conv_general_dilated(x, k, (2, 1), [(1, 0), (0, 2)], lhs_dilation=(1, 2),
                                 rhs_dilation=(2, 1), feature_group_count=2,
                                 dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                 precision=lax.Precision.HIGHEST)
    p = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
    g = jax.grad(lambda t: jnp.sum(lax.reduce_window(t, -jnp.inf, lax.max, (1, 2, 2, 1),
                                                     (1, 1, 1, 1), "VALID") ** 2))(x)
    return y, p, g, lax.pad(x, jnp.float32(0), [(0, 0, 0), (-1, 2, 1), (1, 1, 0), (0, 0, 0)])


def kinds(x):
    """Constants of every type, the unusual operations."""
    out = []
    for t in ("bool int4 uint4 int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 "
              "float32 float64 complex64 complex128 float8_e4m3fn float8_e5m2 float8_e4m3b11fnuz "
              "float8_e4m3fnuz float8_e5m2fnuz").split():
        t = jnp.dtype(t)
        values = np.array([0, 1, 2, 1, 0, 3, 1, 0, 1, 0, 2]) if t != bool else np.arange(11) % 3 == 0
        if t.kind in "if" and not t.name.startswith("u"):
            values = values - (values == 2) * 4
        constant = jnp.asarray(values.astype(t))
        out.append(jnp.where(x > 0, constant, jnp.zeros_like(constant)))
    big = jnp.asarray(np.arange(200) % 7 == 1)
    out += [lax.reduce_precision(x, 5, 10), jnp.fft.rfft(x), lax.population_count(jnp.int32(77)),
            jnp.logical_xor(big, big[::-1]), lax.erf(x), jnp.cbrt(x),
            lax.clamp(jnp.float32(-1), x, jnp.float32(1)), jnp.float32(np.inf) * x,
            lax.rng_bit_generator(jnp.zeros(4, jnp.uint32), (3,))[1],
            jnp.linalg.cholesky(jnp.eye(3, dtype=F32) * 2)]
    return out


def algebra(a, b):
    c = lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))), precision="highest",
                        preferred_element_type=jnp.float64)
    d = lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))),
                        precision=lax.DotAlgorithmPreset.BF16_BF16_F32_X3)
    s = lax.linalg.triangular_solve(a[:, :2, :2], b[:, :2, :], left_side=True, lower=True,
                                    transpose_a=True)
    return c, d, s, lax.exp(a, accuracy=lax.AccuracyMode.HIGHEST)


def devices():
    mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))

    def local(v):
        a = lax.psum(v, "x")
        b = lax.ppermute(v, "y", [(0, 1), (1, 0)])
        c = lax.all_gather(v, "x", axis=0, tiled=True)
        d = lax.all_to_all(v, "y", 0, 1, tiled=True)
        return a + b, c, d, lax.psum_scatter(v, "y", tiled=True), lax.axis_index("x") + a

    both = PartitionSpec("x", "y")

    def body(v):
        v = lax.with_sharding_constraint(v, jax.sharding.NamedSharding(mesh, both))
        return jax.shard_map(local, mesh=mesh, in_specs=both, check_vma=False,
                             out_specs=(both, both, both, both, both))(v)

    return body


def shape(*dims, t=F32):
    return jax.ShapeDtypeStruct(dims, t)


PROGRAMS = [
    ("train_step", train_step, [shape(5, 3), shape(3), shape(7, 5), shape(7, 3)], "0.9.0"),
    ("control", control, [shape(6), shape(t=jnp.int32)], "0.12.0"),
    ("indices", indices, [shape(6, 5), shape(2, t=jnp.int32), shape(2, 5)], "1.1.0"),
    ("images", images, [shape(1, 6, 5, 4), shape(3, 2, 2, 4)], "0.14.0"),
    ("kinds", kinds, [shape(11)], "1.8.0"),
    ("algebra", algebra, [shape(2, 3, 4), shape(2, 4, 3)], "1.10.0"),
    ("devices", devices(), [shape(8, 8)], None),
]


def main(folder):
    for name, function, arguments, version in PROGRAMS:
        made = export.export(jax.jit(function), platforms=["tpu"])(*arguments)
        with made_context() as context:
            module = ir.Module.parse(made.mlir_module(), context)
            if version:
                artifact = stablehlo.serialize_portable_artifact(module, version)
                module = stablehlo.deserialize_portable_artifact(context, artifact)
            else:
                artifact = made.mlir_module_serialized
            text = module.operation.get_asm(enable_debug_info=name == "control")
        write(f"{folder}/{name}.mlirbc", artifact)
        write(f"{folder}/{name}.mlir", text.encode())
        if name == "devices":
            continue
        hlo = jax.jit(function).trace(*arguments).lower(lowering_platforms=("tpu",)).compiler_ir("hlo")
        write(f"{folder}/{name}.hlo.pb", hlo.as_serialized_hlo_module_proto())
        write(f"{folder}/{name}.hlo.txt", hlo.as_hlo_text(print_large_constants=True).encode())
    first = export.export(jax.jit(train_step), platforms=["tpu"])(*PROGRAMS[0][2])
    write(f"{folder}/exported.bin", first.serialize())
    with open(f"{folder}/raw.mlirbc", "wb") as f, made_context() as context:
        ir.Module.parse(first.mlir_module(), context).operation.write_bytecode(f)


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def made_context():
    from jax._src.interpreters import mlir
    return mlir.make_ir_context()


if __name__ == "__main__":
    main(sys.argv[1])

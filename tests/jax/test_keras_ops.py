"""Operations of keras.ops among layers, as Keras writes and computes them: outputs and gradients of
each behind a dense layer. Sizes and constants are drawn; the seed is printed, SEED=n draws them again."""
import sys

import test_keras_layers as layers      # which says what Keras runs on
import keras
import numpy as np
from keras import ops

numbers = np.random.default_rng(layers.SEED)
STEPS, WIDTH = layers.draw.choice((4, 6)), layers.draw.choice((6, 8))
AT = layers.draw.randint(1, STEPS - 1)


def drawn(*shape):
    return numbers.normal(size=shape).astype("float32")


def image(x):
    return ops.stack([x, x * x, ops.sin(x), -x], axis=-1)


def heads(x):
    return ops.reshape(x, (-1, STEPS, 2, WIDTH // 2))


ELEMENTS = {
    "Square": ops.square, "Absolute": abs, "Expm1": ops.expm1, "Exp": ops.exp, "Sin": ops.sin,
    "Cos": ops.cos, "Sinh": ops.sinh, "Cosh": ops.cosh, "Arctan": ops.arctan, "Erf": ops.erf,
    "Negative": lambda x: -x, "Sign": lambda x: x * ops.sign(x), "Floor": lambda x: x + ops.floor(x),
    "Ceil": lambda x: x * ops.ceil(x), "Round": lambda x: x + ops.round(x),
    "Trunc": lambda x: x + ops.trunc(x), "Sqrt": lambda x: ops.sqrt(ops.abs(x) + 0.1),
    "Rsqrt": lambda x: ops.rsqrt(ops.exp(x)), "Reciprocal": lambda x: ops.reciprocal(x * x + 1),
    "Log": lambda x: ops.log(x * x + 1), "Log2": lambda x: ops.log2(x * x + 1),
    "Log10": lambda x: ops.log10(x * x + 1.0), "Log1p": lambda x: ops.log1p(ops.square(x)),
    "Clip": lambda x: ops.clip(x, -0.3, 0.4), "Threshold": lambda x: ops.threshold(x, 0.2, 0.1),
    "StopGradient": lambda x: x * ops.stop_gradient(x),
    "Cast": lambda x: x + ops.cast(ops.cast(x * 3, "int32"), "float32"),
    "Power by 2": lambda x: x ** 2, "Power by 3": lambda x: x ** 3,
    "Power": lambda x: ops.power(ops.abs(x) + 1, 1.5), "Power of 2": lambda x: 2.0 ** x,
    "Power of both": lambda x: (ops.abs(x) + 0.5) ** x, "TrueDivide": lambda x: x / (x * x + 1),
    "of a number": lambda x: 1.0 / (x * x + 2), "FloorDivide": lambda x: x + x // 0.5,
    "Mod": lambda x: ops.mod(x, 0.5), "Minimum": lambda x: ops.minimum(x, 0.2),
    "Maximum": lambda x: ops.maximum(x, 0.0), "Arctan2": lambda x: ops.arctan2(x, x * x + 1),
    "a constant": lambda x: (x + drawn(WIDTH)) * drawn(STEPS, WIDTH),
    "Where": lambda x: ops.where(x > 0, x, 0.1 * x),
    "Where by both": lambda x: ops.where(ops.less_equal(x, drawn(WIDTH)), x, drawn(WIDTH)),
    "truths": lambda x: x * ops.cast(ops.greater_equal(x, 0), "float32") +
    ops.cast(ops.equal(x, x), "float32"),
    "Gelu": ops.gelu, "Gelu by erf": lambda x: ops.gelu(x, approximate=False),
    "LeakyRelu": lambda x: ops.leaky_relu(x, 0.35), "Elu": lambda x: ops.elu(x, alpha=0.5),
    "Celu": lambda x: ops.celu(x, alpha=0.5), "HardShrink": ops.hard_shrink,
    "SoftShrink": lambda x: ops.soft_shrink(x, 0.2), "TanhShrink": ops.tanh_shrink,
    "Squareplus": ops.squareplus, "Sparsemax": ops.sparsemax, "SparsePlus": ops.sparse_plus,
    "SparseSigmoid": ops.sparse_sigmoid, "HardTanh": ops.hard_tanh,
    "OnesLike": lambda x: x + ops.ones_like(x), "ZerosLike": lambda x: ops.maximum(x, ops.zeros_like(x)),
    "FullLike": lambda x: x * ops.full_like(x, 2.5), "Cbrt": lambda x: ops.cbrt(x * x + 1),
    "Hypot": lambda x: ops.hypot(x, x + 1), "Logaddexp": lambda x: ops.logaddexp(x, 2 * x + 0.1),
    "LogicalXor": lambda x: x * ops.cast(ops.logical_xor(x > 0, x > 0.5), "float32"),
    "Arcsin": lambda x: ops.arcsin(ops.tanh(x) * 0.9), "Arccos": lambda x: ops.arccos(ops.tanh(x) * 0.9),
    "Arcsinh": ops.arcsinh, "Arccosh": lambda x: ops.arccosh(ops.exp(x) + 1.1), "Erfc": ops.erfc,
    "Arctanh": lambda x: ops.arctanh(ops.tanh(x) * 0.9), "Deg2rad": ops.deg2rad, "Copy": ops.copy,
    "Rad2deg": ops.rad2deg, "SaturateCast": lambda x: x * ops.cast(ops.saturate_cast(x * 3, "int32"), "float32"),
    "Isnan": lambda x: ops.where(ops.isnan(x / x), 0.0, x), "NanToNum": ops.nan_to_num,
    "Isfinite": lambda x: ops.where(ops.isfinite(1 / ops.relu(x)), x, 0.5 * x),
    "Isinf": lambda x: x * ops.cast(ops.isinf(1 / ops.relu(x)), "float32"),
    "ConvertToTensor": ops.convert_to_tensor,
    "a mask as a value": lambda x: x * ops.cast(ops.not_equal(x, 0), "float32"),
    "Softmax": lambda x: ops.softmax(x, axis=1), "LogSoftmax": lambda x: ops.log_softmax(x, axis=1),
}
# but Norm, which Keras 3.15.1 does not run on JAX once it has an axis
SUMS = {
    "Sum": lambda x: ops.sum(x, axis=-1, keepdims=True) * x,
    "Sum over two": lambda x: ops.sum(x, axis=(1, 2), keepdims=True) + x,
    "Mean": lambda x: x - ops.mean(x, axis=-1, keepdims=True), "Max": lambda x: ops.max(x, axis=1),
    "Min": lambda x: ops.min(x, axis=2), "Std": lambda x: ops.std(x, axis=1),
    "Var": lambda x: x / ops.sqrt(ops.var(x, axis=-1, keepdims=True) + 1e-3),
    "Logsumexp": lambda x: ops.logsumexp(x, axis=-1), "Average": lambda x: ops.average(x, axis=1),
    "Normalize": lambda x: ops.normalize(x, axis=-1), "Cumsum": lambda x: ops.cumsum(x, axis=1),
    "Prod": lambda x: ops.prod(x, axis=1), "Cumprod": lambda x: ops.cumprod(x, axis=-1),
    "Prod of zeros": lambda x: ops.prod(ops.relu(x + 0.5), axis=(1, 2), keepdims=True) + x,
    "All": lambda x: x * ops.cast(ops.all(x > -1, axis=-1, keepdims=True), "float32"),
    "Any": lambda x: x[:, 0] * ops.cast(ops.any(x > 1, axis=1), "float32"),
    "CountNonzero": lambda x: x[:, 0] * ops.cast(ops.count_nonzero(x > 0, axis=1), "float32"),
    "Ptp": lambda x: ops.ptp(x, axis=1), "LayerNorm": ops.layer_normalization,
    "LayerNorm over two": lambda x: ops.layer_normalization(x, axis=(1, 2)),
    "RMSNorm": ops.rms_normalization,
    "Argmax": lambda x: x[:, 0] * ops.cast(ops.argmax(x, axis=1), "float32"),
    "Argmin": lambda x: x[:, :, 0] + ops.cast(ops.argmin(x, axis=-1), "float32"),
}
ORDER = {
    "Sort": lambda x: ops.sort(x, axis=1) * drawn(STEPS, WIDTH), "Median": lambda x: ops.median(x, axis=1),
    "Sort last": lambda x: ops.sort(x) * drawn(WIDTH), "Median of many": lambda x: ops.median(
        ops.concatenate([x, x[:, :1] * 2], axis=1), axis=1, keepdims=True) + x,
    "Argsort": lambda x: x * ops.cast(ops.argsort(x, axis=1), "float32"),
    "TopK": lambda x: ops.top_k(x, 3)[0] * drawn(3),
    "TopK's places": lambda x: x[..., :2] * ops.cast(ops.top_k(x, 2)[1], "float32"),
    "TakeAlongAxis": lambda x: ops.take_along_axis(x, ops.argsort(x * x, axis=1), axis=1),
    "TakeAlongAxis last": lambda x: ops.take_along_axis(x, ops.top_k(ops.sin(x), 2)[1], axis=-1),
}
IMAGES = {
    "MaxPool": lambda x: ops.max_pool(image(x), 2, 2), "MaxPool same": lambda x: ops.max_pool(
        image(x), (3, 2), (2, 1), padding="same"),
    "AveragePool": lambda x: ops.average_pool(image(x), 3, 1, padding="same"),
    "MaxPool of steps": lambda x: ops.max_pool(x, 2, 1), "RGBToGrayscale": lambda x:
    ops.image.rgb_to_grayscale(image(x)[..., :3]),
    "ExtractPatches": lambda x: ops.image.extract_patches(image(x), (2, 3)),
    "ExtractPatches same": lambda x: ops.image.extract_patches(image(x), 3, strides=2, padding="same"),
    "Resize": lambda x: ops.image.resize(image(x), (7, 5)),
    "Resize to the nearest": lambda x: ops.image.resize(image(x), (STEPS * 2, WIDTH), interpolation="nearest"),
    "DotProductAttention": lambda x: ops.dot_product_attention(*[heads(x)] * 3),
    "DotProductAttention, causal": lambda x: ops.dot_product_attention(
        heads(x), heads(x * 2), heads(x + 1), is_causal=True),
}
MOVES = {
    "ExpandDims": lambda x: ops.expand_dims(x, (1, -1)), "Squeeze": lambda x: ops.squeeze(x[:, :1]),
    "Split": lambda x: ops.add(*ops.split(x, 2, axis=-1)), "Triu": ops.triu,
    "Split at": lambda x: ops.concatenate(ops.split(x, [AT], axis=1)[::-1], axis=1),
    "Stack": lambda x: ops.stack([x, x * 2], axis=1), "Tril": lambda x: ops.tril(x, k=1),
    "Stack last": lambda x: ops.stack([x, x, x * x], axis=-1),
    "Repeat": lambda x: ops.repeat(x, 3, axis=1), "Tile": lambda x: ops.tile(x, (1, 2, 3)),
    "Pad": lambda x: ops.pad(x, ((0, 0), (1, 2), (0, 1)), constant_values=2.5),
    "Pad by reflection": lambda x: ops.pad(x, ((0, 0), (1, 3), (0, 2)), mode="reflect"),
    "Pad by symmetry": lambda x: ops.pad(x, ((0, 0), (STEPS, 1), (2, 0)), mode="symmetric"),
    "Swapaxes": lambda x: ops.swapaxes(x, 1, 2), "Glu": lambda x: ops.glu(x, axis=1),
    "Moveaxis": lambda x: ops.moveaxis(ops.stack([x, x * x], axis=1), 1, -1),
    "Flip": lambda x: ops.flip(x, axis=1) * ops.flip(x, axis=-1),
    "Roll": lambda x: ops.roll(x, AT, axis=1) + ops.roll(x, -1, axis=2),
    "Diff": lambda x: ops.diff(x, axis=1), "Fliplr": lambda x: ops.fliplr(x) * drawn(STEPS, WIDTH),
    "Hstack": lambda x: ops.hstack([x, x * x]), "x[:, ::-1]": lambda x: x[:, ::-1] * drawn(STEPS, WIDTH),
    "x[..., 4:0:-2]": lambda x: x[..., 4:0:-2], "x[:, -2::-1]": lambda x: x[:, -2::-1],
    "Roll of two": lambda x: ops.roll(x, (AT, -2), (1, 2)),
    "parts of three": lambda x: ops.add(*[ops.transpose(ops.reshape(x, (-1, STEPS, 2, WIDTH // 2)),
                                                        (2, 0, 3, 1))[i] for i in (0, 1)]),
    "Take": lambda x: ops.take(x, [0, AT, -1], axis=1),
    "OneHot": lambda x: ops.one_hot(ops.cast(ops.argmax(x, axis=-1), "int32"), WIDTH) * x,
    "DepthToSpace": lambda x: ops.depth_to_space(ops.reshape(x, (-1, 1, STEPS * WIDTH // 4, 4)), 2),
    "SpaceToDepth": lambda x: ops.space_to_depth(ops.reshape(x, (-1, STEPS, WIDTH, 1)), 2),
    "x[..., 0]": lambda x: x[..., 0], "x[:, None]": lambda x: x[:, None],
    "x[:, ::2]": lambda x: x[:, ::2], "x[:, 1:3, ..., 2:]": lambda x: x[:, 1:3, ..., 2:],
}
PRODUCTS = {
    "Matmul": lambda x: ops.matmul(x, ops.transpose(x, (0, 2, 1))),
    "Matmul by a constant": lambda x: ops.matmul(x, drawn(WIDTH, 3)),
    "Dot": lambda x: ops.dot(x, drawn(WIDTH, 3)),
    "Tensordot": lambda x: ops.tensordot(x, drawn(WIDTH, 3), axes=1),
    "Einsum": lambda x: ops.einsum("bij,bkj->bik", x, x),
    "Einsum by a constant": lambda x: ops.einsum("bij,jk->bki", x, drawn(WIDTH, 3)),
    "Einsum of heads": lambda x: ops.einsum("bqhd,bkhd->bhqk", *[ops.reshape(
        x, (-1, STEPS, 2, WIDTH // 2))] * 2),
}


def main():
    failures = []
    families = {**ELEMENTS, **SUMS, **ORDER, **MOVES, **PRODUCTS, **IMAGES}
    only = sys.argv[1:]
    for name, made in families.items():
        if only and name not in only:
            continue
        x = keras.Input((STEPS, WIDTH))
        model = keras.Model(x, made(keras.layers.Dense(WIDTH)(x)))
        try:
            layers.compare(model)
        except ValueError as mistake:
            failures.append(f"{name}: {mistake}")
    print(f"SEED={layers.SEED}: {len(families)} operations, {len(failures)} differ")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

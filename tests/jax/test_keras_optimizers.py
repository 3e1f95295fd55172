"""Optimizers, schedules, constraints, regularisers and initialisers as Keras has them: every class
of keras.optimizers that trains by itself, with drawn arguments, some steps on drawn gradients; their
variables must be Keras's own. Random initialisers must have the distribution of Keras's. The seed is
printed, and SEED=n draws the same again."""
import os
import random
import subprocess
import sys

os.environ["KERAS_BACKEND"] = "jax"
import keras  # noqa: E402
import numpy as np  # noqa: E402
import seeds  # noqa: E402

NUMBERS = os.environ.get("KERAS_NUMBERS", "build/tests/jax/keras_numbers")
TOLERANCE = 2e-5                        # of a variable's largest: Keras computes in float32
SEED = seeds.seed()
draw = random.Random(SEED)
rng = np.random.default_rng(SEED)
STEPS = 6
# bases; several optimizers in one, which has no place for a model's variables here
OTHERS = {"Optimizer", "MultiOptimizer", "OptimizerMap", "LossScaleOptimizer"}


def one_of(*choices):
    return draw.choice(choices)


def real(low, high):
    return round(draw.uniform(low, high), 4)


def text_of(name, arguments):
    return f"{name}({', '.join(f'{k}={v}' for k, v in arguments.items())})"


def array(name, value):
    dims = " ".join(map(str, value.shape))
    return f"{name} f32 {dims} : {' '.join(f'{float(x):.9g}' for x in value.ravel())}\n"


def ours(kind, text, steps):
    lines = f"{kind} {text}\n"
    for arrays in steps:
        lines += "".join(array(n, v) for n, v in arrays.items()) + "run\n"
    run = subprocess.run([NUMBERS], input=lines, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise ValueError(f"{text}: {run.stderr.strip() or run.returncode}")
    return [(line.split(" ")[0], np.array(line.split(" ")[1:], float))
            for line in run.stdout.splitlines()]


def compare(what, is_, right, tolerance=TOLERANCE):
    right = np.asarray(right, float).ravel()
    off = np.abs(right - is_).max() / max(np.abs(right).max(), 1e-3)
    if not off <= tolerance:
        raise ValueError(f"{what}: {off:.3g} of the largest off: {is_[:4]} for {right[:4]}")


def rows(shape, low, high):
    return rng.uniform(low, high, shape).astype("float32")


# ----- optimizers

SCHEDULES = (
    lambda: f"ExponentialDecay({real(0.01, 0.2)}, {draw.randint(1, 4)}, {real(0.3, 0.9)}, "
            f"staircase={one_of(True, False)})",
    lambda: f"PolynomialDecay({real(0.05, 0.2)}, {draw.randint(2, 5)}, {real(0, 0.05)}, "
            f"power={real(0.5, 2)}, cycle={one_of(True, False)})",
    lambda: f"InverseTimeDecay({real(0.01, 0.2)}, {draw.randint(1, 4)}, {real(0.3, 0.9)})",
    lambda: f"CosineDecay({real(0.01, 0.05)}, {draw.randint(2, 8)}, {real(0, 0.5)}, "
            f"warmup_target={one_of(None, 0.1)}, warmup_steps={draw.randint(1, 3)})",
    lambda: f"CosineDecayRestarts({real(0.01, 0.2)}, {draw.randint(1, 3)}, t_mul=2.0, "
            f"m_mul={real(0.5, 1)})",
    lambda: f"PiecewiseConstantDecay([1, 3], [{real(0, 0.1)}, {real(0, 0.1)}, {real(0, 0.1)}])",
)
# by argument, whoever has it
DRAWN = {
    "momentum": lambda: real(0, 0.95), "nesterov": lambda: one_of(True, False),
    "beta_1": lambda: real(0.5, 0.95), "beta_2": lambda: real(0.8, 0.999),
    "epsilon": lambda: one_of(1e-7, 1e-3), "amsgrad": lambda: one_of(True, False),
    "rho": lambda: real(0.5, 0.95), "centered": lambda: one_of(True, False),
    "initial_accumulator_value": lambda: real(0.05, 0.5), "beta_2_decay": lambda: real(-1, -0.5),
    "epsilon_2": lambda: real(0.001, 0.01), "clip_threshold": lambda: real(0.5, 2),
    "relative_step": lambda: one_of(True, False), "learning_rate_power": lambda: real(-1, 0),
    "l1_regularization_strength": lambda: real(0, 0.1),
    "l2_regularization_strength": lambda: real(0, 0.1),
    "l2_shrinkage_regularization_strength": lambda: real(0, 0.1), "beta": lambda: real(0, 0.5),
    "adam_beta_1": lambda: real(0.5, 0.95), "adam_beta_2": lambda: real(0.8, 0.999),
    "adam_weight_decay": lambda: one_of(None, real(0, 0.1)), "adam_lr_ratio": lambda: real(0.5, 2),
    "exclude_embeddings": lambda: one_of(True, False), "ns_steps": lambda: draw.randint(1, 6),
    "rms_rate": lambda: one_of(None, real(0.1, 0.4)), "warmup_steps": lambda: draw.randint(0, 4),
    "weight_decay": lambda: real(0, 0.1), "clipnorm": lambda: real(0.3, 2),
    "clipvalue": lambda: real(0.2, 0.9), "global_clipnorm": lambda: real(0.3, 2),
    "ema_momentum": lambda: real(0.5, 0.99), "ema_overwrite_frequency": lambda: one_of(None, 2),
    "loss_scale_factor": lambda: real(0.5, 8), "gradient_accumulation_steps": lambda: one_of(2, 3),
}


def optimizer_text(name):
    """The call, with the arguments that this class has, and at most one kind of clipping."""
    code = getattr(keras.optimizers, name).__init__.__code__
    has = code.co_varnames[1:code.co_argcount]
    a = {k: DRAWN[k]() for k in has if k in DRAWN and draw.random() < 0.35}
    for other in draw.sample(["clipnorm", "clipvalue", "global_clipnorm"], 2):
        a.pop(other, None)
    a["learning_rate"] = one_of(real(0.001, 0.1), one_of(*SCHEDULES)())
    if "ema_momentum" in a or "ema_overwrite_frequency" in a:
        a["use_ema"] = True
    # Keras's own makes no step of these together in the eager mode that is asked here
    if "gradient_accumulation_steps" in a:
        a.pop("use_ema", None)
        a.pop("ema_momentum", None)
        a.pop("ema_overwrite_frequency", None)
    return text_of(name, a)


def check_optimizer(text, grow=1.0, bad_step=-1):
    shapes = [(4, 6), (5,), (2, 3, 4), (7, 3)]
    values = {f"v{i}": rows(s, -1, 1) for i, s in enumerate(shapes)}
    steps = [{f"g{i}": rows(s, -1, 1) * grow for i, s in enumerate(shapes)} for _ in range(STEPS)]
    if bad_step >= 0:
        steps[bad_step]["g1"][2] = np.inf
    optimizer = eval(text, {**vars(keras.optimizers), **vars(keras.optimizers.schedules)})
    variables = [keras.Variable(v, name=n) for n, v in values.items()]
    optimizer.build(variables)
    right = []
    now, state = list(values.values()), [v.value for v in optimizer.variables]
    for step in steps:                  # stateless: its conditions are traced
        now, state = optimizer.stateless_apply(state, list(step.values()), now)
        right.append([np.array(v) for v in now])
    steps[0].update(values)
    is_ = ours("optimizer", text, steps)
    for i, (name, value) in enumerate(is_):
        step, variable = divmod(i, len(shapes))
        compare(f"{text}: step {step + 1}, {name}", value, right[step][variable],
                1e-4 if "Muon" in text else TOLERANCE)


# ----- constraints, regularisers, initialisers


def check_function(kind, text):
    module = {"constraint": keras.constraints, "regularizer": keras.regularizers}[kind]
    made = eval(text, vars(module))
    w = rows((4, 5), -2, 2) if "Orthogonal" in text else rows((3, 4, 2), -2, 2)
    [(_, is_)] = ours(kind, text, [{"w": w}])
    if kind == "constraint":
        compare(text, is_, made(w))
    else:
        import jax
        compare(text, is_, jax.grad(lambda x: made(x))(w))


def check_initializer(text, shape):
    made = np.array(eval(text, vars(keras.initializers))(shape)).ravel()
    [(_, is_)] = ours("initializer", text, [{"w": np.zeros(shape, "float32")}])
    if text.split("(")[0] in ("Zeros", "Ones", "Constant", "Identity"):
        compare(text, is_, made, 1e-6)
        return
    if text.startswith("Orthogonal"):
        for m in (is_, made):
            m = m.reshape(-1, shape[-1])
            square = m.T @ m if m.shape[0] > m.shape[1] else m @ m.T
            compare(text, square.ravel(), np.eye(len(square)) * square[0, 0], 1e-4)
        compare(text, is_ @ is_, made @ made, 1e-4)
        return
    both = np.sort(np.concatenate([made, is_]))     # Kolmogorov and Smirnov's largest distance
    apart = np.abs(np.searchsorted(np.sort(is_), both, "right") / is_.size -
                   np.searchsorted(np.sort(made), both, "right") / made.size).max()
    if apart > 2.2 * np.sqrt(2 / is_.size):
        raise ValueError(f"{text} of {shape}: distributions are {apart:.3g} apart")


def cases():
    names = [n for n, c in vars(keras.optimizers).items() if isinstance(c, type) and
             issubclass(c, keras.optimizers.Optimizer) and n not in OTHERS]
    for name in sorted(names):
        for _ in range(int(os.environ.get("ROUNDS", 3))):
            yield check_optimizer, optimizer_text(name)
    for name in ("Adam", "SGD", "RMSprop"):      # Keras loses Nadam's product there
        scaled = f"LossScaleOptimizer({name}(0.1), initial_scale=8.0, dynamic_growth_steps=2)"
        yield check_optimizer, scaled, 8.0, draw.randrange(STEPS)
    axis = one_of(0, 1, [0, 1], -1)
    yield check_function, "constraint", f"MaxNorm({real(0.5, 2)}, axis={axis})"
    yield check_function, "constraint", "NonNeg()"
    yield check_function, "constraint", f"UnitNorm(axis={axis})"
    yield (check_function, "constraint",
           f"MinMaxNorm({real(0, 1)}, {real(1, 2)}, rate={real(0, 1)}, axis={axis})")
    yield check_function, "regularizer", f"L1({real(0, 1)})"
    yield check_function, "regularizer", "L2()"
    yield check_function, "regularizer", f"L1L2(l1={real(0.1, 1)}, l2={real(0.1, 1)})"
    for mode in ("rows", "columns"):
        yield check_function, "regularizer", f"OrthogonalRegularizer({real(0.1, 1)}, mode='{mode}')"
    shape = (3, 3, draw.randint(20, 40), draw.randint(20, 40))
    for text in ("Zeros()", "Ones()", f"Constant({real(-1, 1)})", "RandomNormal(0.5, 0.1)",
                 "RandomUniform(-1.0, 0.5)", "TruncatedNormal(stddev=0.3)", "GlorotNormal()",
                 "GlorotUniform()", "HeNormal()", "HeUniform()", "LecunNormal()", "LecunUniform()"):
        yield check_initializer, text, shape
    for mode in ("fan_in", "fan_out", "fan_avg"):
        how = one_of("truncated_normal", "untruncated_normal", "uniform")
        yield check_initializer, f"VarianceScaling({real(0.5, 2)}, '{mode}', '{how}')", shape
    yield check_initializer, f"Identity({real(0.5, 2)})", (5, draw.randint(3, 8))
    yield check_initializer, f"Orthogonal({real(0.5, 2)})", one_of((8, 5), (5, 8), (2, 3, 4))


def main():
    failures, count = [], 0
    for check, *arguments in cases():
        count += 1
        try:
            check(*arguments)
        except ValueError as mistake:
            failures.append(str(mistake))
    print(f"SEED={SEED}: {count} optimizers and functions, {len(failures)} differ")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

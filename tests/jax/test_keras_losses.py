"""Losses and metrics as Keras has them: every class of keras.losses and keras.metrics with drawn
arguments, labels, predictions and weights; their values, and the gradients of losses, must be those
of Keras on JAX. The seed is printed, and SEED=n draws the same again."""
import os
import random
import subprocess
import sys

os.environ["KERAS_BACKEND"] = "jax"
import jax  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
import seeds  # noqa: E402
from keras.src.backend import set_keras_mask  # noqa: E402

NUMBERS = os.environ.get("KERAS_NUMBERS", "build/tests/jax/keras_numbers")
TOLERANCE = 2e-5                        # of the largest number: Keras computes in float32
SEED = seeds.seed()
draw = random.Random(SEED)
rng = np.random.default_rng(SEED)
# what has no numbers of its own, and names of the same class
BASES = {"Loss", "Metric", "MeanMetricWrapper", "Mean", "Sum"}


def one_of(*choices):
    return draw.choice(choices)


def real(low, high):
    return round(draw.uniform(low, high), 3)


def text_of(name, arguments):
    return f"{name}({', '.join(f'{k}={v!r}' for k, v in arguments.items())})"


def array(name, value):
    kind = "s32" if value.dtype.kind == "i" else "f32"
    dims = " ".join(map(str, value.shape))
    return f"{name} {kind} {dims} : {' '.join(f'{float(x):.9g}' for x in value.ravel())}\n"


def ours(kind, text, steps):
    lines = f"{kind} {text}\n"
    for arrays in steps:
        lines += "".join(array(n, v) for n, v in arrays.items() if v is not None) + "run\n"
    run = subprocess.run([NUMBERS], input=lines, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise ValueError(run.stderr.strip() or f"exit status {run.returncode}")
    return {line.split(" ")[0]: np.array(line.split(" ")[1:], float)
            for line in run.stdout.splitlines()}


def compare(what, is_, right):
    right = np.asarray(right, float).ravel()
    if is_.shape != right.shape:
        raise ValueError(f"{what}: {is_.size} numbers, not {right.size}")
    off = np.abs(right - is_).max() / max(np.abs(right).max(), 1e-2)
    if not off <= TOLERANCE:
        raise ValueError(f"{what}: {off:.3g} of the largest off: {is_} for {right}")


def rows(shape, low, high):
    return rng.uniform(low, high, shape).astype("float32")


def softmax(x):
    e = np.exp(x)
    return (e / e.sum(-1, keepdims=True)).astype("float32")


def hot(places, classes):
    return np.eye(classes, dtype="float32")[places]


def mask_of(p):
    """Which steps of predictions [batch, steps, numbers] count, of half of them."""
    if p.ndim != 3 or draw.random() < 0.5:
        return None
    return (rows(p.shape[:2], 0, 1) > draw.choice((0.2, 0.6))).astype("float32")


# ----- losses


def loss_case(name):
    batch, classes = draw.randint(2, 9), draw.randint(2, 6)
    outer = (batch, draw.randint(1, 4)) if draw.random() < 0.4 else (batch,)
    shape, a = outer + (classes,), {}
    places = rng.integers(0, classes, outer)
    logits = rows(shape, -3, 3)
    entropy = "Crossentropy" in name
    if entropy and draw.random() < 0.5:
        a["from_logits"] = True
    if entropy and name != "SparseCategoricalCrossentropy" and draw.random() < 0.5:
        a["label_smoothing"] = real(0, 0.4)
    if "Categorical" in name or name == "CosineSimilarity":
        p, y = softmax(logits), hot(places, classes)
    else:
        p, y = rows(shape, 0.05, 0.95), rows(shape, 0.05, 0.95)
    if a.get("from_logits"):
        p = logits
    if name in ("SparseCategoricalCrossentropy", "CategoricalGeneralizedCrossEntropy"):
        y = places.astype("int32")
    if name in ("BinaryCrossentropy", "BinaryFocalCrossentropy", "Dice", "Tversky"):
        y = (rows(shape, 0, 1) > 0.5).astype("float32")
    if "Hinge" in name:
        y = np.sign(rows(shape, -1, 1)) if draw.random() < 0.5 else hot(places, classes)
        p = rows(shape, -2, 2)
    if "CosineSimilarity" == name or "Categorical" in name and name[:2] == "Ca" and entropy:
        # a vector of one element has a length that cancels it: its gradient is rounding alone
        if len(shape) == 3 and shape[1] > 1 and draw.random() < 0.5:
            a["axis"] = one_of(1, -2)
    if name == "SparseCategoricalCrossentropy" and draw.random() < 0.5:
        a["ignore_class"] = draw.randrange(classes)
    if "Focal" in name:
        a["gamma"] = one_of(0.0, 1.0, 2.0, real(1, 3))
        a["alpha"] = real(0.1, 0.9)
        if name == "BinaryFocalCrossentropy":
            a["apply_class_balancing"] = one_of(True, False)
    if name == "Huber":
        a["delta"] = real(0.05, 1)
    if name == "CategoricalGeneralizedCrossEntropy":
        a["q"] = real(0.1, 0.95)
    if name == "Tversky":
        a["alpha"], a["beta"] = real(0, 1), real(0, 1)
    if name in ("Dice", "Tversky") and draw.random() < 0.6:
        a["axis"] = one_of(-1, 0, tuple(range(len(shape))))
    if name == "Circle":
        p = rows((batch, classes), -1, 1)
        p /= np.linalg.norm(p, axis=-1, keepdims=True)
        y = rng.integers(0, 3, batch).astype("int32")
        a["gamma"], a["margin"] = real(1, 20), real(0.1, 0.6)
        a["remove_diagonal"] = one_of(True, False)
    if name == "CTC":
        steps = draw.randint(1, 7)
        p, y = rows((batch, steps, classes), -2, 2), np.zeros((batch, steps), "int32")
        for row in y:
            said = draw.randint(0, (steps + 1) // 2)
            row[:said] = rng.integers(1, classes, said)
    return a, y, p, len(outer) == 1 and name != "CTC"


def check_loss(name):
    a, y, p, may_weigh = loss_case(name)
    w = None
    a["reduction"] = one_of("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight")
    if may_weigh and draw.random() < 0.5 and name not in ("Dice", "Tversky"):
        w = rows(p.shape[:1], 0, 2)
    if name in ("Circle", "Dice", "Tversky", "CTC"):
        a["reduction"] = one_of("sum_over_batch_size", "mean")
    loss = getattr(keras.losses, name)(**a)
    mask = mask_of(p)
    if mask is not None and (a.get("axis", -1) in (1, -2) or w is not None or
                             name in ("Dice", "Tversky", "Circle", "CTC")):
        mask = None

    def value(x):
        if mask is not None:
            x = x + 0.0                 # a mask is an attribute, which p itself need not take
            set_keras_mask(x, mask.astype(bool))
        return loss(y, x, sample_weight=w)

    right, slope = jax.value_and_grad(value)(p)
    text = text_of(name, a)
    try:
        is_ = ours("loss", text, [{"y": y, "p": p, "w": w, "mask": mask}])
        compare("loss", is_["loss"], right)
        if np.isfinite(slope).all():    # Keras's own is not where a row has no kin
            compare("gradient", is_["gradient"], slope)
    except ValueError as mistake:
        raise ValueError(f"{text} of {p.shape}: {mistake}") from None


# ----- metrics


def metric_case(name):
    batch, classes = draw.randint(3, 9), draw.randint(2, 6)
    shape, a = (batch, classes), {}
    if draw.random() < 0.3 and name not in ("F1Score", "FBetaScore", "R2Score"):
        shape = (batch, draw.randint(2, 4), classes)
    sparse = "Sparse" in name
    thresholds = {"thresholds": one_of(None, real(0, 1), [real(0, 0.5), real(0.5, 1)],
                                       [0.0, 0.25, 0.5, 0.75, 1.0])}
    if name in ("Precision", "Recall"):
        a = one_of(thresholds, {"top_k": draw.randint(1, classes)},
                   {"class_id": draw.randrange(classes)})
    elif "Positives" in name or "Negatives" in name:
        a = thresholds
    elif name == "AUC":
        a = {"num_thresholds": draw.randint(2, 60), "curve": one_of("ROC", "PR", "PRGAIN"),
             "summation_method": one_of("interpolation", "majoring", "minoring")}
        if draw.random() < 0.3:
            a["thresholds"] = [real(0, 1) for _ in range(4)]
        if draw.random() < 0.4:
            shape, a["multi_label"], a["num_labels"] = (batch, classes), True, classes
        if draw.random() < 0.4:
            shape = (batch, classes)
            a["label_weights"] = [real(0.1, 2) for _ in range(classes)]
    elif "At" in name:
        a = {name.split("At")[1].lower(): real(0.2, 0.9), "num_thresholds": draw.randint(1, 40)}
        if draw.random() < 0.3:
            a["class_id"] = draw.randrange(classes)
    elif "TopK" in name:
        a["k"] = draw.randint(1, classes)
    elif name == "BinaryAccuracy":
        a["threshold"] = real(0.2, 0.8)
    elif name in ("F1Score", "FBetaScore"):
        a = {"average": one_of(None, "micro", "macro", "weighted"),
             "threshold": one_of(None, real(0.2, 0.8))}
        if name == "FBetaScore":
            a["beta"] = real(0.2, 3)
    elif name == "R2Score":
        a = {"class_aggregation": one_of(None, "uniform_average", "variance_weighted_average"),
             "num_regressors": one_of(0, 1, 2)}
    elif "IoU" in name:
        if name != "BinaryIoU":
            a["num_classes"] = classes
            if draw.random() < 0.4:
                a["ignore_class"] = draw.randrange(classes)
            a["sparse_y_pred"] = one_of(True, False)
        if name in ("IoU", "MeanIoU"):
            a["sparse_y_true"] = one_of(True, False)
        if name in ("IoU", "OneHotIoU"):
            a["target_class_ids"] = draw.sample(range(classes), draw.randint(1, classes))
        if name == "BinaryIoU":
            a = {"threshold": real(0.2, 0.8), "target_class_ids": one_of([0], [1], [0, 1])}
    elif name in ("CosineSimilarity", "PearsonCorrelation", "ConcordanceCorrelation"):
        if len(shape) == 3 and draw.random() < 0.5:
            a["axis"] = 1
    elif name.endswith("Crossentropy") and draw.random() < 0.5:
        a["from_logits"] = True
    if name == "SparseCategoricalCrossentropy" and draw.random() < 0.5:
        a["ignore_class"] = draw.randrange(classes)
    return a, shape, classes, sparse


def metric_arrays(name, a, shape, classes, sparse):
    places = rng.integers(0, classes, shape[:-1])
    p, y = rows(shape, 0.02, 0.98), (rows(shape, 0, 1) > 0.5).astype("float32")
    if name.startswith(("Mean", "Root", "R2", "LogCosh", "Pearson", "Concordance", "KL", "Poisson",
                        "Cosine")) and "IoU" not in name:
        y = rows(shape, 0.02, 0.98)
    if name == "Accuracy":
        y = np.where(rows(shape, 0, 1) > 0.5, p, y)
    if name.startswith("Categorical") or "TopK" in name:
        y, p = hot(places, classes), softmax(rows(shape, -3, 3))
    if sparse:
        y, p = places.astype("int32"), softmax(rows(shape, -3, 3))
    if a.get("from_logits"):
        p = rows(shape, -3, 3)
    if "IoU" in name and name != "BinaryIoU":
        dense = "OneHot" in name or a.get("sparse_y_true") is False
        y = hot(places, classes) if dense else places.astype("int32")
        if a["sparse_y_pred"]:
            p = rng.integers(0, classes, shape[:-1]).astype("float32")
    w = None
    if draw.random() < 0.5 and (len(p.shape) == 2 or "IoU" not in name):
        w = rng.integers(0, 4, shape[0]).astype("float32") + 1
    if len(p.shape) == 1 or w is not None and ("IoU" in name or len(p.shape) > 2):
        w = None                        # Keras takes weights of elements there, not of samples
    return {"y": y, "p": p, "w": w}


def check_metric(name):
    a, *case = metric_case(name)
    steps = [metric_arrays(name, a, *case) for _ in range(2)]
    for step in steps:                  # of both steps or of none
        step["w"] = step["w"] if all(s["w"] is not None for s in steps) else None
    metric = getattr(keras.metrics, name)(**a)
    masked = steps[0]["p"].ndim == 3 and a.get("axis") != 1 and draw.random() < 0.5
    for step in steps:
        p = jax.numpy.array(step["p"])
        if masked and step["w"] is None:
            step["mask"] = (rows(p.shape[:2], 0, 1) > 0.4).astype("float32")
            set_keras_mask(p, step["mask"].astype(bool))
        metric.update_state(step["y"], p, sample_weight=step["w"])
    right = np.asarray(metric.result(), float)
    text = text_of(name, a)
    try:
        compare("result", ours("metric", text, steps)["result"], right)
    except ValueError as mistake:
        raise ValueError(f"{text} of {steps[0]['p'].shape}: {mistake}") from None


def classes_of(module, base):
    return sorted(n for n, c in vars(module).items() if isinstance(c, type) and
                  issubclass(c, base) and n not in BASES)


def main():
    failures, count = [], 0
    for module, base, check in ((keras.losses, keras.losses.Loss, check_loss),
                                (keras.metrics, keras.metrics.Metric, check_metric)):
        for name in classes_of(module, base):
            for _ in range(int(os.environ.get("ROUNDS", 2))):
                count += 1
                try:
                    check(name)
                except ValueError as mistake:
                    failures.append(str(mistake))
    print(f"SEED={SEED}: {count} losses and metrics, {len(failures)} differ")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

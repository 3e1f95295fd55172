"""What a case is drawn from: shapes, types, values of several kinds, all from one seed."""

import numpy as np

from sweep.case import wide

FLOATS = ("float32", "bfloat16", "float16")
COMPLEX = ("complex64",)
SIGNED = ("int8", "int16", "int32")
UNSIGNED = ("uint8", "uint16", "uint32")
INTEGERS = SIGNED + UNSIGNED
REALS = FLOATS + INTEGERS
NUMBERS = REALS + COMPLEX
ALL = NUMBERS + ("bool",)


class Draw:
    """A source of random choices; everything that a case needs comes from its seed."""

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed % (1 << 32))

    def choose(self, *of):
        return of[self.rng.randint(len(of))]

    def chance(self, p):
        return bool(self.rng.rand() < p)

    def integer(self, low, high):
        """From low to high, both included."""
        return int(self.rng.randint(low, high + 1))

    def shape(self, low=0, high=4, most=7, zero=0.05):
        """Of low to high dimensions, each at most `most`; now and then one is empty or large."""
        rank = self.integer(low, high)
        shape = [self.integer(1, most) for _ in range(rank)]
        if rank and self.chance(zero):
            shape[self.integer(0, rank - 1)] = 0
        elif rank and self.chance(0.1):
            shape[self.integer(0, rank - 1)] = self.choose(1, 8, 128, 130, 257)
            if rank > 2:
                shape[0] = min(shape[0], 3)
        return tuple(shape)

    def broadcast(self, shape):
        """A shape that broadcasts to the given one."""
        shape = [1 if self.chance(0.2) else n for n in shape]
        return tuple(shape[self.integer(0, len(shape)) :]) if self.chance(0.2) else tuple(shape)

    def array(self, shape=None, dtype=None, kind="default"):
        """Values of a kind: default (normal, scale 3), small, unit, positive, nonzero, full,
        edge."""
        shape = self.shape() if shape is None else tuple(shape)
        dtype = dtype or self.choose("float32", "float32", *REALS)
        target = wide(dtype)
        if dtype == "bool":
            return self.rng.rand(*shape) < 0.5 if shape else np.bool_(self.chance(0.5)).reshape(())
        if dtype == "complex64":
            real = self.array(shape, "float32", kind)
            return (real + 1j * self.array(shape, "float32", kind)).astype(target)
        is_float = dtype.startswith(("float", "bfloat"))
        if not is_float:
            return self._integers(shape, target, kind)
        values = self._floats(shape, kind)
        return np.asarray(values, np.float32).reshape(shape).astype(target)

    def _integers(self, shape, target, kind):
        bits = 4 if target.name.endswith("int4") else target.itemsize * 8
        signed = not target.name.startswith("u")
        low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)
        if kind == "full":
            values = self.rng.randint(low, high, size=shape, dtype=np.int64)
        else:
            values = np.rint(self.rng.randn(*shape) * 3).astype(np.int64)
            if kind in ("positive", "unit") or not signed:
                values = abs(values)
            if kind == "small":
                values = np.clip(values, -1, 1)
            values = np.clip(values, low, high - 1)
            if kind == "nonzero":
                values = np.where(values == 0, 1, values)
        return np.asarray(values).reshape(shape).astype(target)

    def _floats(self, shape, kind):
        if kind == "unit":
            return self.rng.rand(*shape)
        if kind == "positive":
            return self.rng.rand(*shape) * 2 + 1
        if kind == "small":
            return self.rng.randn(*shape) * 1e-3
        values = self.rng.randn(*shape) * 3
        if kind == "nonzero":
            return np.where(values == 0, 1, values)
        if kind == "edge":
            odd = self.rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0], size=shape)
            return np.where(self.rng.rand(*shape) < 0.4, odd, values)
        return values

    def axis(self, shape):
        """A dimension of the shape, counted from either end."""
        return self.integer(-len(shape), len(shape) - 1)

    def axes(self, shape):
        """None, one dimension, or several different ones."""
        which = self.integer(0, 2)
        if which == 0 or not shape:
            return None
        if which == 1:
            return self.axis(shape)
        order = self.rng.permutation(len(shape))[: self.integer(1, len(shape))]
        return tuple(int(i) - (len(shape) if self.chance(0.3) else 0) for i in order)

    def permutation(self, n):
        return tuple(int(i) for i in self.rng.permutation(n))

    def split(self, total):
        """A shape of so many elements."""
        shape, left = [], total
        while left > 1 and len(shape) < 4:
            factors = [f for f in range(1, left + 1) if left % f == 0]
            shape.append(int(self.rng.choice(factors)))
            left //= shape[-1]
        return tuple(shape + ([left] if left != 1 or not shape else []))

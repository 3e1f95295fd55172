"""The list of what the sweep draws from: functions that make a case of an area."""

ENTRIES = {}


def entry(area, name, tolerance=None, jit_only=False, grad=False):
    """Registers a function that takes a Draw and returns a function of JAX and its arguments.
    With `grad` the case may be drawn as its gradient or its forward derivative."""

    def register(make):
        ENTRIES.setdefault(area, []).append((name, make, tolerance, jit_only, grad))
        return make

    return register

#!/usr/bin/env python3
"""Writes tests/import/data/regions/nested.mlirbc: regions of all kinds that an artifact has them in.

They are large or small, in one another, isolated or with values and constants from around them:
what the reader leaves in the file and what it reads at once (import/bytecode/later.c).

    make_regions.py FOLDER
"""
import sys

from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

TYPE = "tensor<4xf32>"
LARGE = 40                              # operations; the reader reads 32 at once


class Writer:
    def __init__(self):
        self.lines = []

    def __call__(self, line):
        self.lines.append(line)

    def chain(self, prefix, first, operands, count=LARGE):
        """So many operations, each of the last one and of one of the operands; the last one."""
        last = first
        for k in range(count):
            op = ("add", "multiply", "subtract", "maximum")[k % 4]
            self(f"{prefix}_{k} = stablehlo.{op} {last}, {operands[k % len(operands)]} : {TYPE}")
            last = f"{prefix}_{k}"
        return last

    def constants(self, prefix, *values):
        for k, value in enumerate(values):
            self(f"{prefix}{k} = stablehlo.constant dense<{value}> : tensor<i32>")

    def loop(self, name, first, value, limit, one, body):
        """A value that goes round: body(value) writes operations and names the new one. `limit` and
        `one` are values, or texts of constants that are made within."""
        self(f"{name}:2 = stablehlo.while({name}_i = {first}, {name}_v = {value}) : tensor<i32>, {TYPE}")
        self("cond {")
        if limit[0] != "%":
            self.constants(f"{name}_limit", limit)
            limit = f"{name}_limit0"
        self(f"{name}_c = stablehlo.compare LT, {name}_i, {limit} : "
             "(tensor<i32>, tensor<i32>) -> tensor<i1>")
        self(f"stablehlo.return {name}_c : tensor<i1>")
        self("} do {")
        new = body(f"{name}_v")
        if one[0] != "%":
            self.constants(f"{name}_one", one)
            one = f"{name}_one0"
        self(f"{name}_n = stablehlo.add {name}_i, {one} : tensor<i32>")
        self(f"stablehlo.return {name}_n, {new} : tensor<i32>, {TYPE}")
        self("}")
        return f"{name}#1"


def around(w):
    """A large body, and a large one within a small one: both use what is around them."""
    def small(value):
        w(f"%twice = stablehlo.add {value}, {value} : {TYPE}")
        return w.loop("%b1", "%i0", value, "%n", "%i1",
                      lambda v: w.chain("%b1_k", v, ["%twice", "%y", "%half", value]))

    w.loop("%a", "%i0", "%x", "%n", "%i1",
           lambda v: w.chain("%a_k", v, ["%x", "%half", "%z", "%y"]))
    w.loop("%b", "%i0", "%z", "%n", "%i1", small)


def isolated(w):
    """One that uses nothing from around it, with another one in it that does."""
    def body(value):
        w(f"%third = stablehlo.constant dense<2.500000e-01> : {TYPE}")
        last = w.chain("%c_k", value, ["%third", value])
        w.constants("%c_i", 0)
        return w.loop("%c1", "%c_i0", last, "2", "1",
                      lambda v: w.chain("%c1_k", v, [last, "%third"]))

    w.loop("%c", "%i0", "%x", "3", "1", body)


def branches(w):
    """A large one, a small one, a small one with a large loop in it."""
    w('%d = "stablehlo.case"(%n) ({')
    w(f"stablehlo.return {w.chain('%d0', '%x', ['%z', '%a#1', '%half'])} : {TYPE}")
    w("}, {")
    w(f"%d1 = stablehlo.multiply %half, %b#1 : {TYPE}")
    w(f"stablehlo.return %d1 : {TYPE}")
    w("}, {")
    w(f"%d2 = stablehlo.multiply %c#1, %y : {TYPE}")
    w.loop("%e", "%i0", "%d2", "%n", "%i1", lambda v: w.chain("%e_k", v, ["%d2", "%x"]))
    w(f"stablehlo.return %e#1 : {TYPE}")
    w(f"}}) : (tensor<i32>) -> {TYPE}")


def program():
    w = Writer()
    w("module @nested {")
    w(f"func.func public @main(%n: tensor<i32>, %x: {TYPE}, %y: {TYPE})"
      f" -> ({', '.join(4 * [TYPE])}) {{")
    w(f"%half = stablehlo.constant dense<5.000000e-01> : {TYPE}")
    w.constants("%i", 0, 1)
    w(f"%z = stablehlo.add %x, %y : {TYPE}")
    around(w)
    isolated(w)
    branches(w)
    w(f"return %a#1, %b#1, %c#1, %d : {', '.join(4 * [TYPE])}")
    w("}")
    w("}")
    return "\n".join(w.lines)


def main(folder):
    with mlir.make_ir_context():
        module = str(ir.Module.parse(program()))
        artifact = stablehlo.serialize_portable_artifact_str(module, "1.0.0")
    with open(f"{folder}/nested.mlirbc", "wb") as f:
        f.write(artifact)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A function of TensorFlow as XLA gets it: HLO, what its parameters are, and which variable each
result is that the function assigned."""
import os
import re

os.environ.update(CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0",
                  KERAS_BACKEND="tensorflow")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402


class Lowered:
    def __init__(self, function, arguments):
        compiled = tf.function(function, jit_compile=True)
        self.ir = compiled.experimental_get_compiler_ir(*arguments)
        graph = compiled.get_concrete_function(*arguments)
        variables = {id(v.handle): v for v in graph.graph.variables}
        # arguments, then what the function captured: variables, and constants of its graph
        self.parameters = [*arguments, *(variables.get(id(c), c) for c in graph.captured_inputs)]
        self.aliases = self.read_aliases()

    def read_aliases(self):
        """results that are assigned variables: their numbers, and those of the parameters"""
        header = self.ir(stage="hlo").split("\n", 1)[0]
        return [(int(a), int(b)) for a, b in re.findall(r"\{(\d+)\}: \((\d+), \{\}", header)]

    def values(self):
        return [np.array(p.numpy(), order="C") for p in self.parameters]

    def carry(self):
        return ",".join(f"{a}:{b}" for a, b in self.aliases)

    def write(self, path, stage):
        form = self.ir(stage=stage)
        with open(path, "wb") as f:
            f.write(form if isinstance(form, bytes) else form.encode())

"""Tensors of PyTorch/XLA that are not computed yet, as the program that computes them."""
import os

os.environ.update(PJRT_DEVICE="CPU", KERAS_BACKEND="torch")
import torch  # noqa: E402
import torch_xla  # noqa: E402
import torch_xla.core.xla_model as xm  # noqa: E402

BRIDGE = torch_xla._XLAC
DEVICE = torch_xla.device()


class Lowered:
    def __init__(self, results):
        self.results = [r.detach() for r in results]
        # parameters in the order of the program: the id of the tensor that each one was
        self.ids, self.parameters = BRIDGE._get_tensors_xla_device_data_node(self.results)

    def values(self):
        return [p.cpu().contiguous().clone() for p in self.parameters]

    def carry(self, pairs):
        """of pairs (result's number, id of the tensor that it takes the place of)"""
        return ",".join(f"{r}:{self.ids.index(i)}" for r, i in pairs if i in self.ids)

    def write(self, path, stage):
        form = {"hlo": BRIDGE._get_xla_tensors_hlo, "hlo_serialized": BRIDGE._get_xla_tensors_hlo_proto,
                "stablehlo": xm.get_stablehlo, "bytecode": xm.get_stablehlo_bytecode}[stage](self.results)
        with open(path, "wb") as f:
            f.write(form if isinstance(form, bytes) else form.encode())


def id_of(tensor):
    return BRIDGE._xla_get_tensor_id(tensor)


def settle():
    """what was asked for so far is computed, so that what follows is a program of its own"""
    torch_xla.sync()
    xm.wait_device_ops()

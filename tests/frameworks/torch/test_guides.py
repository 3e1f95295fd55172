"""The guides' networks as PyTorch/XLA's training steps and as our own Keras front end trains them."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
from lowered import DEVICE, Lowered, id_of, settle  # noqa: E402
import guides  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import save_file  # noqa: E402


class Turned(torch.nn.Module):
    """an array of channels first, as Keras lays it out"""

    def forward(self, x):
        return x.permute(0, 2, 3, 1)


def taken_over(source):
    """the network of Keras in PyTorch's layers, with its weights"""
    layers, is_image = [], False
    for layer in source.layers:
        weights = [torch.from_numpy(w) for w in layer.get_weights()]
        if layer.__class__.__name__ == "Flatten":
            layers += [Turned(), torch.nn.Flatten()] if is_image else [torch.nn.Flatten()]
            continue
        if layer.__class__.__name__ == "Conv2D":
            made = torch.nn.Conv2d(*weights[0].shape[2:], weights[0].shape[0])
            kernel, is_image = weights[0].permute(3, 2, 0, 1), True
        else:
            made, kernel = torch.nn.Linear(*weights[0].shape), weights[0].T
        with torch.no_grad():
            made.weight.copy_(kernel)
            made.bias.copy_(weights[1])
        layers += [made, torch.nn.ReLU()] if layer.activation.__name__ == "relu" else [made]
    return torch.nn.Sequential(*layers)


def start(optimizer, parameters):
    """Adam's state before its first step, as tensors of the device"""
    for p in parameters:
        optimizer.state[p] = {"step": torch.zeros((), device=DEVICE),
                              "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
    return [t for s in optimizer.state.values() for t in s.values()]


def export(source, epsilon, x, y, folder):
    model = taken_over(source).to(DEVICE)
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters, 1e-3, eps=epsilon, capturable=True, foreach=False)
    state = parameters + start(optimizer, parameters)
    x = torch.from_numpy(x if x.ndim < 4 else x.transpose(0, 3, 1, 2).copy()).to(DEVICE)
    y = torch.from_numpy(y).long().to(DEVICE)
    settle()
    before = [id_of(t) for t in state]
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    lowered = Lowered([loss, *state])
    lowered.write(f"{folder}/step", "hlo_serialized")
    save_file({str(i): v for i, v in enumerate(lowered.values())}, f"{folder}/in.safetensors")
    carry = lowered.carry((1 + i, tensor) for i, tensor in enumerate(before))
    if len(carry.split(",")) != len(state):
        raise ValueError(f"of {len(state)} tensors of the state only {carry} are parameters")
    return carry


if __name__ == "__main__":
    # PyTorch's Adam adds epsilon after correcting for the first steps, Keras's before: as small as
    # here it is the same
    sys.exit(guides.compare_all(export, epsilon=1e-10))

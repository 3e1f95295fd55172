"""Twenty training steps of a network by PyTorch, on its CPU or on simulated TPU cores by PyTorch/XLA,
which is asked for by PJRT_DEVICE=TPU. Prints the losses. With a seed each element of what the network is
given moves by at most MOVED of itself (of a parameter where the network is given integers), two roundings of
f32: what the losses then change by is what the network makes of rounding.

    python pjrt_networks.py mlp|resnet18|gpt cpu|tpu|spmd [SEED]
"""
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

STEPS = 20
MOVED = 1.2e-7
# At the others' rate the ResNet's loss goes up at first, and what rounding did to a relu close to zero
# grows tenfold in a step: after six PyTorch is off from itself, moved so, by 4e-2 of the first loss.
RATES = {"mlp": 0.05, "gpt": 0.05, "resnet18": 0.002}


class Residual(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        self.one = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.two = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.norm_one, self.norm_two = nn.BatchNorm2d(out), nn.BatchNorm2d(out)
        self.beside = nn.Sequential() if stride == 1 and channels == out else nn.Sequential(
            nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.norm_two(self.two(F.relu(self.norm_one(self.one(x)))))
        return F.relu(y + self.beside(x))


def resnet18():
    """the network of eighteen layers, for pictures of 32 by 32"""
    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    channels = 64
    for out, stride in [(64, 1), (128, 2), (256, 2), (512, 2)]:
        layers += [Residual(channels, out, stride), Residual(out, out, 1)]
        channels = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


class Gpt(nn.Module):
    def __init__(self, letters=64, width=64, layers=2, length=32):
        super().__init__()
        self.embed, self.place = nn.Embedding(letters, width), nn.Parameter(torch.zeros(length, width))
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(
            width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
            for _ in range(layers))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, letters)
        self.register_buffer("mask", torch.triu(torch.full((length, length), -1e9), 1))

    def forward(self, x):
        h = self.embed(x) + self.place
        for layer in self.layers:
            h = layer(h, src_mask=self.mask)
        return self.out(self.norm(h)).flatten(0, 1)


def mlp():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 10))


def batches(name):
    rng = np.random.default_rng(0)
    centre = rng.normal(size=(10, 64)) if name == "mlp" else rng.normal(size=(10, 3, 32, 32))
    for _ in range(STEPS):
        if name == "gpt":
            text = (rng.integers(0, 64, (8, 1)) + np.arange(33)) % 64
            yield torch.tensor(text[:, :-1]), torch.tensor(text[:, 1:]).flatten()
        else:
            y = rng.integers(0, 10, 32 if name == "mlp" else 16)
            x = centre[y] + 0.5 * rng.normal(size=(len(y), *centre.shape[1:]))
            yield torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def moved(x, generator):
    """x, each element a little off; as it is without a generator"""
    if generator is None or not x.is_floating_point():
        return x
    return x * (1 + MOVED * (2 * torch.rand(x.shape, generator=generator, dtype=torch.float64) - 1)).float()


def set_up(where):
    """the device, what ends a step there, and what cuts a batch over all devices"""
    if where == "cpu":
        return torch.device("cpu"), lambda: None, lambda x: x
    import torch_xla
    import torch_xla.backends
    import torch_xla.distributed.spmd as spmd
    import torch_xla.runtime as runtime
    torch_xla.backends.set_mat_mul_precision("highest")
    if where == "tpu":
        return torch_xla.device(), torch_xla.sync, lambda x: x
    runtime.use_spmd()                  # before anything is on a device
    count = runtime.global_runtime_device_count()
    mesh = spmd.Mesh(np.arange(count), (count,), ("data",))

    def cut(x):
        spmd.mark_sharding(x, mesh, ("data",) + (None,) * (x.dim() - 1))
        return x
    return torch_xla.device(), torch_xla.sync, cut


def main():
    name, where = sys.argv[1:3]
    generator = torch.Generator().manual_seed(int(sys.argv[3])) if len(sys.argv) > 3 else None
    torch.manual_seed(0)
    model = {"mlp": mlp, "resnet18": resnet18, "gpt": Gpt}[name]()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(moved(parameter, generator))
    device, sync, cut = set_up(where)
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATES[name], momentum=0.9)
    losses = []
    for x, y in batches(name):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(cut(moved(x, generator).to(device))), cut(y.to(device)))
        loss.backward()
        optimizer.step()
        sync()
        losses.append(loss.item())
    print("numbers", *[f"{loss:.6f}" for loss in losses])


main()

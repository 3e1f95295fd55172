"""Small programs of PyTorch/XLA: recurrent networks, attention, indices, norms, losses, training steps."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
from lowered import DEVICE, Lowered, settle  # noqa: E402
import held  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from torch import nn  # noqa: E402

FORMS = ["hlo_serialized", "stablehlo", "bytecode"]


def data(*tensors):
    moved = [t.to(DEVICE) for t in tensors]
    settle()
    return moved


def train(model, x, y, optimizer):
    model.to(DEVICE)
    x, y = data(x, y)
    optimizer = optimizer(model.parameters())
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return [loss, *model.parameters()]


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lstm, self.out = nn.Embedding(9, 6), nn.LSTM(6, 5, 2), nn.Linear(5, 3)

    def forward(self, x):
        return self.out(self.lstm(self.words(x))[0][-1])


def recurrent():
    return train(Recurrent(), torch.randint(0, 9, (4, 2)), torch.tensor([0, 2]),
                 lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True))


def convolutions():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU(),
                          nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=4), nn.GroupNorm(2, 8),
                          nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Flatten(), nn.Linear(64, 3))
    return train(model, torch.randn(3, 3, 8, 8), torch.tensor([0, 2, 1]),
                 lambda p: torch.optim.SGD(p, 0.01))


def attention():
    q, k, v = data(*(torch.randn(2, 3, 6, 4) for _ in range(3)))
    q.requires_grad_()
    a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    a.square().sum().backward()
    return [a, q.grad]


def indices():
    x, i, j = data(torch.randn(6, 5), torch.tensor([5, 0, 3]), torch.randint(0, 5, (6, 3)))
    y = x.clone()
    y[i] = 1.5
    return [x.gather(1, j), x.scatter_add(1, j, x[:, :3]), x.index_add(0, i, x[:3]), y,
            *x.topk(2, 1), *x.sort(0), x.cumsum(1), x.argmax(1), F.one_hot(j, 5)]


def integers():
    a, b = data(torch.arange(-7, 9) * 3_000_000_001, torch.arange(1, 17))
    return [a * b, a // b, a % b, a & b, a.sum(), a.to(torch.int8), a.float() / b]


def doubles():
    x, w = data(torch.randn(4, 5).double(), torch.randn(5, 3).double())
    return [torch.tanh(x @ w), x.softmax(1), x.exp().sum()]


def losses():
    p, y, c = data(torch.randn(6, 5), torch.randn(6, 5), torch.randint(0, 5, (6,)))
    p.requires_grad_()
    of = [F.cross_entropy(p, c, label_smoothing=0.1), F.huber_loss(p, y), F.soft_margin_loss(p, y.sign()),
          F.kl_div(F.log_softmax(p, 1), F.softmax(y, 1), reduction="batchmean")]
    sum(of).backward()
    return [*of, p.grad]


def rounded():
    model = nn.Sequential(nn.Linear(10, 16), nn.LayerNorm(16), nn.Linear(16, 3)).to(DEVICE)
    x, = data(torch.randn(4, 10))
    with torch.no_grad(), torch.autocast("xla", dtype=torch.bfloat16):
        return [(model(x).float() * 4).round()]


def export(program, folder, forms):
    results = program()
    lowered = Lowered(results)
    for form in forms:
        lowered.write(f"{folder}/{form}", form)
    save_file({str(i): v for i, v in enumerate(lowered.values())}, f"{folder}/in.safetensors")
    settle()
    save_file({str(i): r.cpu().contiguous().clone() for i, r in enumerate(lowered.results)},
              f"{folder}/out.safetensors")


PROGRAMS = [recurrent, convolutions, attention, indices, integers, doubles, losses, rounded]

if __name__ == "__main__":
    torch.manual_seed(1)
    sys.exit(held.hold({p.__name__: p for p in PROGRAMS}, export, FORMS))

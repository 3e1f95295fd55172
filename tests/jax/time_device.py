"""What JAX's calls cost the host when its device is the simulated one: dispatch, steps of two networks
beside JAX's CPU backend, memory over many launches, a large step compiled and found in the cache. Not a
test: times are nobody's to assert.

    python tests/jax/time_device.py [dispatch] [steps] [memory] [cache]"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
LARGE_LAYERS = 6
ON_CPU = os.environ.get("TIME_DEVICE_CPU") == "1"
if ON_CPU:
    os.environ["JAX_PLATFORMS"] = "cpu"
else:
    import pjrt
    pjrt.use("v5e-1", QUIET=1)
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import optax  # noqa: E402
from flax import linen as nn  # noqa: E402


def median_s(call, count):
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def dispatch():
    same, one = jax.jit(lambda x: x), jnp.float32(1)
    many = [jnp.float32(i) for i in range(500)]
    add, each = jax.jit(lambda *a: sum(a)), jax.jit(lambda *a: [v + 1 for v in a])
    for name, function, arguments, count in (("no operation", same, [one], 1000),
                                             ("500 arguments", add, many, 200),
                                             ("500 arguments and results", each, many, 100)):
        jax.block_until_ready(function(*arguments))
        called = median_s(lambda: function(*arguments), count)
        waited = median_s(lambda: jax.block_until_ready(function(*arguments)), count)
        print(f"{name:26} {called * 1e6:8.0f} us called {waited * 1e6:8.0f} us waited for", flush=True)


class Cnn(nn.Module):
    @nn.compact
    def __call__(self, x):
        for features in (32, 64):
            x = nn.max_pool(nn.relu(nn.Conv(features, (3, 3))(x)), (2, 2), (2, 2))
        return nn.Dense(10)(nn.relu(nn.Dense(128)(x.reshape(len(x), -1))))


class Transformer(nn.Module):
    layers: int = 2

    @nn.compact
    def __call__(self, words):
        x = nn.Embed(96, 128)(words)
        mask = nn.make_causal_mask(words)
        for _ in range(self.layers):
            x = x + nn.SelfAttention(num_heads=4)(nn.LayerNorm()(x), mask=mask)
            x = x + nn.Dense(128)(nn.gelu(nn.Dense(512)(nn.LayerNorm()(x))))
        return nn.Dense(96)(x)


def training_step(network, x, y, optimizer):
    def step(parameters, state):
        def loss(p):
            return optax.softmax_cross_entropy_with_integer_labels(network.apply(p, x), y).mean()
        value, gradients = jax.value_and_grad(loss)(parameters)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(parameters, updates), state, value

    return jax.jit(step)


def step_seconds(network, x, y, count=20):
    """wall and processor seconds of a training step with Adam in steady state"""
    parameters = network.init(jax.random.key(1), x)
    optimizer = optax.adam(1e-3)
    step = training_step(network, x, y, optimizer)
    now = (parameters, optimizer.init(parameters))
    for i in range(count + 5):
        if i == 5:
            wall, cpu = time.perf_counter(), time.process_time()
        *now, value = step(*now)
        jax.block_until_ready(value)
    return (time.perf_counter() - wall) / count, (time.process_time() - cpu) / count


def steps():
    key = jax.random.key(0)
    for name, network, x, y in (
            ("MNIST CNN, 64 images", Cnn(), jax.random.normal(key, (64, 28, 28, 1)),
             jax.random.randint(key, (64,), 0, 10)),
            ("transformer, 8 x 64 words", Transformer(), jax.random.randint(key, (8, 64), 0, 96),
             jax.random.randint(key, (8, 64), 0, 96))):
        wall, cpu = step_seconds(network, x, y)
        print(f"{name:26} {wall * 1e3:8.1f} ms a step {cpu * 1e3:8.1f} ms of processor time",
              flush=True)


def memory():
    function, x = jax.jit(lambda x: (x @ x + 1, x.sum())), jnp.ones((64, 64))
    for i in range(10001):
        jax.block_until_ready(function(x))
        if i in (1000, 10000):
            pages = int(open("/proc/self/statm").read().split()[1])
            print(f"after {i:6} launches {pages * os.sysconf('SC_PAGE_SIZE') / 1e6:8.1f} MB resident",
                  flush=True)


def compile_large():
    """a step of some 5,000 operations of StableHLO, in this process"""
    network, optimizer, words = Transformer(layers=LARGE_LAYERS), optax.adam(1e-3), jnp.zeros((2, 64), int)
    parameters = jax.eval_shape(network.init, jax.random.key(1), words)
    lowered = training_step(network, words, words, optimizer).lower(
        parameters, jax.eval_shape(optimizer.init, parameters))
    operations = lowered.as_text().count(" stablehlo.")
    wall, cpu = time.perf_counter(), time.process_time()
    lowered.compile()
    print(f"{operations} operations {time.perf_counter() - wall:8.2f} s {time.process_time() - cpu:8.2f} s "
          "of processor time", flush=True)


def cache():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("compiled", "found in the cache"):
            print(f"{name:20}", end=" ", flush=True)
            subprocess.run([sys.executable, __file__, "compile_large"], check=True,
                           env={**os.environ, "XDG_CACHE_HOME": folder})


def main():
    wanted = sys.argv[1:] or ["dispatch", "steps", "memory", "cache"]
    for part in (dispatch, steps, memory, cache, compile_large):
        if part.__name__ not in wanted:
            continue
        part()
        if part is steps and not ON_CPU:
            print("on JAX's CPU backend:", flush=True)
            subprocess.run([sys.executable, __file__, "steps"], check=True,
                           env={**os.environ, "TIME_DEVICE_CPU": "1"})


if __name__ == "__main__":
    main()

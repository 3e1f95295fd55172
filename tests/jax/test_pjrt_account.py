"""What JAX's programs leave behind: folders of runs, tables, the clock, the summary, the cache; and what
is said of users' mistakes."""
import csv
import json
import os
import subprocess
import sys
import tempfile

import held

STEP = """
import ctypes, os, jax, jax.numpy as jnp, numpy as np

def layer(w, x):
    return jnp.tanh(x @ w)

w = np.ones((256, 128), np.float32)
f = jax.jit(layer)
x = np.ones((8, 256), np.float32)
for _ in range(3):
    y = np.asarray(f(w, x))
library = ctypes.CDLL(os.environ["TPU_LIBRARY_PATH"])
library.sy_device_time_ns.restype = ctypes.c_int64
print(library.sy_device_time_ns(0), library.sy_device_time_ns(99), float(y[0, 0]))
"""


def run(program, *options, python=sys.executable, **environment):
    """a program's text by `systole jax`"""
    with tempfile.TemporaryDirectory() as own:
        with open(f"{own}/program.py", "w", encoding="utf-8") as f:
            f.write(program)
        return held.start([held.SYSTOLE, "jax", "--tpu", "v5e-8", "--python", python, *options, f.name],
                          environment)


def ask(*command):
    return subprocess.run([held.SYSTOLE, *command], capture_output=True, text=True, check=False)


def test_a_folder_has_programs_launches_and_a_timeline(folder):
    out = f"{folder}/out"
    r = run(STEP, "--out", out, XDG_CACHE_HOME=f"{folder}/cache")
    assert r.returncode == 0, r.stderr
    now, beyond, value = r.stdout.split()
    assert value == "1.0" and beyond == "-1"
    with open(f"{out}/launches.csv", encoding="utf-8") as f:
        rows = [row for row in csv.DictReader(f) if row["name"] == "jit_layer"]
    assert len(rows) == 3 and len({row["cycles"] for row in rows}) == 1, rows
    ends = [0, *[float(row["end_ns"]) for row in rows]]
    starts = [float(row["start_ns"]) for row in rows]
    assert all(end <= start for end, start in zip(ends, starts)), rows
    cycles_ns = int(rows[0]["cycles"]) / 1.5                # a v5e has 1,500 MHz
    assert all(abs(e - s - cycles_ns - 650) < 0.01 or e - s > cycles_ns
               for s, e in zip(starts, ends[1:])), rows
    # behind the last launch came the copy of its result: 4 KiB by the host link
    assert ends[-1] < int(now) + 1 < ends[-1] + 1000, (now, ends)
    with open(f"{out}/timeline.json", encoding="utf-8") as f:
        events = [e for e in json.load(f) if e["ph"] == "X" and e["tid"] == 0]
    assert len([e for e in events if e["name"] == "jit_layer"]) == 3
    assert {"copy to device", "copy to host"} < {e["name"] for e in events}
    for one, other in zip(events, events[1:]):
        assert one["ts"] + one["dur"] <= other["ts"] + 1e-6, (one, other)
    with open(f"{out}/programs.csv", encoding="utf-8") as f:
        programs = {row["name"]: row for row in csv.DictReader(f)}
    layer = programs["jit_layer"]
    assert layer["launches"] == "3" and layer["was_on_disk"] == "no"
    files = os.listdir(f"{out}/{layer['folder']}")
    assert {"program.mlirbc", "trace.strace", "stats.json", "ops.csv", "report.txt"} <= set(files)
    assert not [name for name in files if name.endswith(".tmp")]


def test_commands_speak_jaxs_names(folder):
    out = f"{folder}/out"
    report = ask("report", out)
    assert "this is the dearest" in report.stderr and "dot_general" in report.stdout, report.stdout
    assert "program.py:5" in report.stdout, report.stdout
    assert ask("explain", out).returncode == 0
    with open(f"{out}/programs.csv", encoding="utf-8") as f:
        name = [row for row in csv.DictReader(f) if row["name"] == "jit_layer"][0]["folder"]
    again = ask("exec", f"{out}/{name}/program.mlirbc", "--tpu", "v5e", "--mode", "timing")
    assert again.returncode == 0, again.stderr


def test_the_summary_tells_what_was_dear(folder):
    r = run(STEP, XDG_CACHE_HOME=f"{folder}/cache")
    lines = r.stderr.splitlines()
    assert any("launches of " in line and "v5e-8 (TPU v5 lite)" in line for line in lines), lines
    assert any("device time" in line and "MFU" in line for line in lines), lines
    assert any("dot_general" in line and "jit_layer" in line for line in lines), lines
    assert "systole:" not in r.stdout
    assert "systole" not in run(STEP, "--quiet", XDG_CACHE_HOME=f"{folder}/cache").stderr


def found(r):
    line = [line for line in r.stderr.splitlines() if "found on disk" in line][0]
    words = line.replace(",", "").split()
    return int(words[words.index("compiled") - 1]), int(words[words.index("found") - 3])


def test_what_was_compiled_is_found_on_disk(folder):
    environment = {"XDG_CACHE_HOME": f"{folder}/cache_of_its_own"}
    compiled, on_disk = found(run(STEP, **environment))
    assert on_disk < compiled
    assert found(run(STEP, **environment)) == (compiled, compiled)
    assert found(run(STEP, SYSTOLE_CACHE="0", **environment)) == (compiled, 0)
    assert os.stat(f"{folder}/cache_of_its_own/systole/programs").st_mode & 0o777 == 0o700
    os.chmod(f"{folder}/cache_of_its_own/systole/programs", 0o777)
    r = run(STEP, **environment)
    assert r.returncode == 0 and "others may write into it" in r.stderr and found(r) == (compiled, 0)


def test_two_processes_use_one_cache(folder):
    environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache_of_two"}
    path = f"{folder}/two.py"
    with open(path, "w", encoding="utf-8") as f:
        f.write(STEP)
    command = [held.SYSTOLE, "jax", "--tpu", "v5e-8", "--python", sys.executable, path]
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True) for _ in range(2)]
    for p in both:
        out, err = p.communicate(timeout=300)
        assert p.returncode == 0 and out.split()[2] == "1.0", err
    compiled, on_disk = found(held.start(command, environment))
    assert compiled == on_disk


def test_a_folder_that_cannot_be_written_is_told_once(folder):
    path = f"{folder}/file"
    with open(path, "w", encoding="utf-8") as f:
        f.write("no folder")
    r = run(STEP, SYSTOLE_OUT=path, XDG_CACHE_HOME=f"{folder}/cache")
    assert r.returncode == 0 and r.stdout.split()[2] == "1.0", r.stderr
    assert r.stderr.count("is a file") == 1, r.stderr


def test_mistakes_are_told(folder):
    cache = {"XDG_CACHE_HOME": f"{folder}/cache"}
    text = "import jax; print(jax.devices())"
    library = {"JAX_PLATFORMS": "tpu,cpu",
               "TPU_LIBRARY_PATH": ask("pjrt", "--path").stdout.strip(), **cache}
    for name, value, said in [("SYSTOLE_TPU", "v5e-9", "nearest: v5e-8"), ("SYSTOLE_MODE", "fast", "both, timing"),
                              ("SYSTOLE_THREADS", "0", "1..256")]:
        r = held.start([sys.executable, "-c", text], {**library, name: value})
        assert r.returncode != 0 and said in r.stderr, r.stderr
    # 9.3 GiB of a parameter and products beside it, of which a v5e has no room for any; nothing is made
    r = run("import jax, jax.numpy as jnp\n"
            "f = jax.jit(lambda x: (x @ x).sum() + (jnp.sin(x) @ jnp.cos(x)).sum())\n"
            "f.lower(jax.ShapeDtypeStruct((50000, 50000), 'float32')).compile()\n", **cache)
    assert r.returncode != 0 and "RESOURCE_EXHAUSTED" in r.stderr, r.stderr
    assert "dot_general (program.py:2)" in r.stderr and "16 GiB" in r.stderr, r.stderr
    r = run("import jax, jax.numpy as jnp\n"
            "def mine(x):\n"
            "    return jax.ffi.ffi_call('no_such_target', jax.ShapeDtypeStruct(x.shape, x.dtype))(x)\n"
            "jax.jit(mine)(jnp.ones(3))\n", **cache)
    assert r.returncode != 0 and "no_such_target" in r.stderr and "program.py:3" in r.stderr, r.stderr


def test_nan_checks_work(folder):
    r = run("import jax, jax.numpy as jnp\njax.config.update('jax_debug_nans', True)\n"
            "jax.jit(lambda x: jnp.log(x))(jnp.float32(-1))\n", XDG_CACHE_HOME=f"{folder}/cache")
    assert r.returncode != 0 and "FloatingPointError" in r.stderr, r.stderr


PROFILE = """
import glob, os, sys, jax, jax.numpy as jnp, numpy as np

f = jax.jit(lambda x: jnp.tanh(x @ x).sum())
x = np.ones((256, 256), np.float32)
cost = f.lower(x).compile().cost_analysis()
assert cost["flops"] >= 2 * 256 ** 3 and cost["bytes accessed"] >= 4 * 256 ** 2, cost
assert 0 < cost["optimal_seconds"] < 1e-3, cost
f(x).block_until_ready()
with jax.profiler.trace(os.environ["PROFILE"]):
    for _ in range(3):
        f(x).block_until_ready()
f(x).block_until_ready()
path, = glob.glob(os.environ["PROFILE"] + "/**/*.xplane.pb", recursive=True)
for plane in jax.profiler.ProfileData.from_file(path).planes:
    for line in plane.lines:
        if plane.name == "/device:TPU:0" and line.name == "XLA Modules":
            events = list(line.events)
            print(len(events), len({e.duration_ns for e in events}), {e.name for e in events})
            ends = [e.start_ns + e.duration_ns for e in events]
            assert all(end <= e.start_ns + 1 for end, e in zip(ends, events[1:])), ends
        if plane.name == "/device:TPU:0" and line.name == "XLA Ops":
            ops = list(line.events)
            assert any("dot_general" in e.name for e in ops), [e.name for e in ops]
            for launch in events:
                inside = [e for e in ops if launch.start_ns - 1 <= e.start_ns < launch.start_ns + launch.duration_ns]
                took = sum(e.duration_ns for e in inside)
                assert len(inside) * len(events) == len(ops) and took <= launch.duration_ns + 1, (took, launch.duration_ns)
                assert inside[0].start_ns > launch.start_ns and took > launch.duration_ns / 20
"""


def test_jaxs_profiler_gets_launches(folder):
    r = run(PROFILE, XDG_CACHE_HOME=f"{folder}/cache", PROFILE=f"{folder}/profile")
    assert r.returncode == 0 and r.stdout == "3 1 {'jit__lambda'}\n", r.stdout + r.stderr


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, test in list(globals().items()):
            if not name.startswith("test_"):
                continue
            try:
                test(folder)
                print(name, "holds", flush=True)
            except AssertionError as e:
                print("FAILED:", name, str(e)[-2000:], flush=True)
                failed += 1
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())

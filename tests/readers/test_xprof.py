"""XProf's own converters read an exported .xplane.pb of a training on eight cores: its profile has
the operations of the step, their time is that of its statistics, and its timeline shows them."""
import json
import os
import subprocess
import sys
import tempfile

from xprof.convert import raw_to_tool_data

SYSTOLE = os.environ.get("SYSTOLE", "./systole")
WANTED = {"all-reduce", "Adam/dense/kernel"}


def tool(path, name):
    data, _ = raw_to_tool_data.xspace_to_tool_data([path], name, {})
    return json.loads(data)


def column(table, name):
    at = [c["id"] for c in table["cols"]].index(name)
    return [row["c"][at]["v"] for row in table["rows"]]


def main():
    with tempfile.TemporaryDirectory() as work:
        trace = os.path.join(work, "train.strace")
        space = os.path.join(work, "train.xplane.pb")
        for command in (["train", "examples/mnist_mlp.json", "--tpu", "v3-8", "--batch", "64",
                         "--steps", "2", "--trace", trace],
                        ["export", trace, "-o", space]):
            subprocess.run([SYSTOLE, *command], check=True, stdout=subprocess.DEVNULL)
        profile = tool(space, "op_profile")["byProgram"]["metrics"]
        stats = tool(space, "hlo_stats")
        names = set(column(stats, "hlo_op_name"))
        shown = {e["name"] for e in tool(space, "trace_viewer")["traceEvents"] if e.get("ph") == "X"}
    told = sum(column(stats, "total_self_time")) * 1e6      # ps
    if not WANTED <= names or not WANTED <= shown:
        print(f"{WANTED} are not all among {sorted(names)} and on the timeline")
        return 1
    if abs(told - profile["rawTime"]) > 1e-6 * told or profile["rawFlops"] <= 0:
        print(f"the profile's {profile} is not the statistics' {told:.0f} ps")
        return 1
    print(f"{len(names)} operations, {told / 1e6:.1f} us of all cores, {len(shown)} names shown")
    return 0


if __name__ == "__main__":
    sys.exit(main())

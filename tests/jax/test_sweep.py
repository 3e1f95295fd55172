"""Cases in the spirit of JAX's own tests, drawn by a seed over all of its interface, computed by JAX
on the simulated TPU and held against JAX on the CPU within the tolerances of its tests.

    test_sweep.py                           fixed cases, which gate, and some of a seed of today
    test_sweep.py --seed 7 --cases 100 --areas lax,numpy [--record FILE]
    test_sweep.py --case lax/17/7           one that was told
    test_sweep.py --exec ... -- --tpu v3    exported and run by `systole exec` instead
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

if "--exec" in sys.argv:
    os.environ["JAX_PLATFORMS"] = "cpu"
else:
    import pjrt

    pjrt.use(os.environ.get("SYSTOLE_TPU", "v5e-8"), QUIET=1)

from sweep.main import main

if __name__ == "__main__":
    sys.exit(main())

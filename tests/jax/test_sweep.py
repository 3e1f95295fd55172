"""Cases in the spirit of JAX's own tests, drawn by a seed over every area of its interface, run on
simulated cores and held against JAX on the CPU within the tolerances of its tests.

    test_sweep.py [--seed N] [--cases N] [--areas lax,numpy] [--only TEXT] [--device] [--record FILE]

Without a seed fixed cases are tried, which must all be right, then some that roll with the day."""
import sys

sys.path.insert(0, __file__.rsplit("/", 1)[0])

from sweep.main import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())

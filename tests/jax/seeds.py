"""The seed that tests draw by: another each day, so that draws roll, and the same all day, so that
what passed before a change was sent passes again after it."""
import os
import random
import time


def of_today():
    return int(time.strftime("%Y%m%d", time.gmtime()))


def seed():
    """$SEED, or today's; SEED=random is another each time, for long runs."""
    given = os.environ.get("SEED")
    if given is None:
        return of_today()
    return random.randrange(10**6) if given == "random" else int(given)

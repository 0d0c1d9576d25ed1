"""The command line: parse, call, print; no logic."""

import gc

gc.set_threshold(100_000, 20, 20)  # starting up makes many objects and next to no garbage: seldom look for it

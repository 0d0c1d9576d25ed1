"""Memory of a run against its limit and against the lower estimate before it begins.

    python benchmarks/memory.py METHOD ENTITIES LIMIT

for example ``temporal 4000 300MB``: a simulated pair of that many entities a side. The peak is that of the run alone,
the program and the graphs taken off. One run a process: a peak does not go down again.
"""

import sys

from dualmatch import Config, align
from dualmatch.errors import DualMatchError
from dualmatch.memory import parse_bytes, peak_mb
from dualmatch.methods.resources import least_bytes
from dualmatch.simulate import scale_world, simulate


def main() -> None:
    method, entities, limit = sys.argv[1], int(sys.argv[2]), parse_bytes(sys.argv[3])
    pair = simulate(scale_world(entities))
    config = Config.checked(method=method, memory_limit=limit, epochs=1)
    if method in ("dualmatch", "fused"):
        import torch

        torch.zeros(1)
    before = peak_mb()
    least = least_bytes(pair.source, pair.target, config) / 2**20
    try:
        align(pair.source, pair.target, config=config)
        ended = "ran"
    except DualMatchError as error:
        ended = f"refused: {error}"
    peak = peak_mb() - before
    facts = pair.source.n_facts + pair.target.n_facts
    print(
        f"{method}, {entities:,} entities a side, {facts:,} facts: least {least:,.0f} MiB, "
        f"limit {limit / 2**20:,.0f} MiB, peak {peak:,.0f} MiB, {ended}"
    )


if __name__ == "__main__":
    main()

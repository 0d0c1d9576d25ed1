"""Planted worlds: two observers' views of one history, with the answer known.

The story, in the order in which it is drawn (one random generator, from `World.seed`):

1. **Entities** (`history`). Some both observers know, some only one does. Each has a fame, a power law of its rank.
2. **Facts an entity** (`history`). On each side every entity gets the minimum, and fame shares out the rest, partly by
   a draw both sides have in common. The law is the same with and without a partner.
3. **Facts** (`history`). Part of each entity's places in facts belong to facts that both observers know; places are
   joined to facts at random. Each fact gets a relation, and a point in time, an interval, half of one, or no time.
4. **Vocabularies** (`history`). The history's relations are finer than either side's: what the target splits is one
   relation to the source, what the target merges is several; some target relations run from tail to head.
5. **Observation** (`planted_pair`). Each observer gets some dates wrong, misses some and knows others only to the month
   or the year; then entities and facts are shuffled, so that neither row numbers nor names give pairs away.

Examples
--------
>>> from dualmatch.simulate import World, simulate
>>> pair = simulate(World(entities=100, seed=7))
>>> pair.source.n_entities, pair.target.n_entities, len(pair.gold)
(100, 100, 90)
"""

from dualmatch.simulate.benchmark_writer import write_folder
from dualmatch.simulate.people import PeopleWorld, simulate_people, write_people
from dualmatch.simulate.planted_pair import SimulatedPair, shuffled_copy, simulate, uniform_world
from dualmatch.simulate.world import VARIED, World, scale_world

__all__ = [
    "VARIED",
    "PeopleWorld",
    "SimulatedPair",
    "World",
    "scale_world",
    "shuffled_copy",
    "simulate",
    "simulate_people",
    "uniform_world",
    "write_folder",
    "write_people",
]

"""Method `evidence` on simulated worlds, from sparse to dense and from all to half of the entities with a partner.

python benchmarks/evidence_worlds.py
"""

from dualmatch import align, evaluate
from dualmatch.simulate import World, simulate

# Facts an entity, share of the facts in common, share of the entities without a partner.
WORLDS = (
    (5, 0.05, 0.1),
    (5, 0.5, 0.1),
    (5, 0.9, 0.1),
    (20, 0.05, 0.1),
    (20, 0.5, 0.5),
    (20, 0.5, 0.0),
    (20, 0.95, 0.0),
    (60, 0.5, 0.1),
    (60, 0.05, 0.3),
)


def main() -> None:
    print("facts  common  alone    H@1  precision  recall    ECE  pairs a round")
    for facts, common, alone in WORLDS:
        options = {"mean_facts": facts, "common_share": common, "unmatched_source": alone, "unmatched_target": alone}
        pair = simulate(World(entities=1000, **options))
        alignment = align(pair.source, pair.target, method="evidence")
        found = evaluate(alignment, pair.gold)
        links, rounds = found.abstention, [step.pairs for step in alignment.rounds or ()]
        shares = f"{links.precision or 0:9.3f}  {links.recall or 0:6.3f}  {found.calibration.ece or 0:5.3f}"
        print(f"{facts:5}  {common:6}  {alone:5}  {found.open['all'].h1:5.1f}  {shares}  {rounds}", flush=True)


if __name__ == "__main__":
    main()

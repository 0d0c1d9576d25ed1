"""What the paper's channels add to evidence, alone and together, at each weight; and what method `fused` chooses.

    python benchmarks/fusing.py dicews-rebuilt yago-wiki20k

Open protocol, no seeds: H@1, H@10, MRR, and D with both of its terms. Needs the extra [gnn].
"""

import argparse
from pathlib import Path

import numpy as np
from scipy import sparse

from dualmatch.channels.relational import relational_similarity
from dualmatch.channels.temporal import temporal_similarity
from dualmatch.config import Config
from dualmatch.decode.fusion import FUSED_WEIGHTS, fuse
from dualmatch.decode.graph_matching import matching_problem, top_1
from dualmatch.decode.sparse_sinkhorn import sharpness_of
from dualmatch.evaluate import ranking
from dualmatch.methods.align import with_settled
from dualmatch.methods.alignment import SoftPlan
from dualmatch.methods.evidence import align_by_evidence
from dualmatch.methods.evidence.problem import Problem
from dualmatch.methods.resources import prepare_process
from dualmatch.readers.benchmark_folder import read_folder

DATA = Path(__file__).parents[2] / "shared" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+")
    config = Config(method="fused")
    prepare_process(config)
    for name in parser.parse_args().datasets:
        measure(name, config)


def measure(name: str, config: Config) -> None:
    """Evidence once, the encoder once, then every weight."""
    data = read_folder(DATA / name)
    gold = np.concatenate([data.read_pairs(DATA / name / part) for part in ("sup_pairs", "ref_pairs")])
    evidence = align_by_evidence(Problem.of(data.source, data.target))
    closed = evidence.settled
    graphs = (data.source, data.target)
    open_rows, open_columns = (
        np.setdiff1d(np.flatnonzero(graph.is_in_a_fact), closed[:, side]) for side, graph in enumerate(graphs)
    )
    problem = matching_problem(*graphs, closed, config.wl_iterations)
    channels = {
        "temporal": temporal_similarity(*graphs),
        "relational": relational_similarity(*graphs, closed.astype(np.int32), config, pseudo=True),
    }

    def show(label: str, plan: SoftPlan) -> None:
        found = ranking(plan.ranks(gold)[0])
        distance = problem.distance(top_1(plan.best().column_of_row, data.target.n_entities))
        figures = f"{found.h1:.2f} / {found.h10:.2f} / {found.mrr:.4f}"
        print(f"{name}  {label:42}  {figures}  D {distance.total:.0f}", flush=True)

    show("evidence", evidence.plan)
    similarity = with_settled(sparse.csr_array(evidence.similarity), closed)
    sharpness = sharpness_of(similarity)
    for used in (("temporal",), ("relational",), ("temporal", "relational")):
        for weight in FUSED_WEIGHTS[1:]:
            some = {channel: channels[channel] for channel in used}
            fused = fuse(similarity, some, open_rows, open_columns, None, sharpness, weights=(weight,))
            show(f"{' and '.join(used)} at {weight}", fused.plan)
    chosen = fuse(similarity, channels, open_rows, open_columns, problem, sharpness)
    show(f"method fused: {', '.join(f'{key} {value}' for key, value in chosen.weights.items())}", chosen.plan)


if __name__ == "__main__":
    main()

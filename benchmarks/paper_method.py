"""Accuracy of method `dualmatch` over training seeds, settings and weights, on the real datasets.

    python benchmarks/paper_method.py yago-wiki20k:unsupervised yago-wiki20k:400 dicews-rebuilt:200 --seeds 0,1,2

The time channel has no chance in it, so it is computed once a dataset; all else is what `dualmatch.align` does. For the
first seed H@1 is also measured at every α, to see how far the α of smallest D is from the best one.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

from dualmatch import BenchmarkFolder, Config, read_folder
from dualmatch.channels.relational import relational_similarity
from dualmatch.channels.temporal import temporal_similarity
from dualmatch.decode.assignment import mutual_best
from dualmatch.decode.fusion import Decoded, decode
from dualmatch.decode.graph_matching import matching_problem
from dualmatch.decode.similarity import Similarity, hold
from dualmatch.decode.sinkhorn import kernel_of, sinkhorn
from dualmatch.evaluate import common_pairs, paper_ranking
from dualmatch.methods.resources import prepare_process

DATA = Path(__file__).parents[2] / "shared" / "data"
LIMIT = 4 * 2**30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="DATASET:SETTING", help="unsupervised, or a number of seed pairs")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--reflection", default="auto")
    parser.add_argument("--negatives", default="both")
    parser.add_argument("--dimension", type=int, default=128)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--no-time-aspect", dest="time_aspect", action="store_false")
    options = parser.parse_args()
    variant = {
        name: getattr(options, name) for name in ("reflection", "negatives", "dimension", "epochs", "time_aspect")
    }
    prepare_process(Config(method="dualmatch"))
    dataset, data, temporal = "", None, None
    for run in options.runs:
        name, _, setting = run.partition(":")
        if name != dataset or data is None or temporal is None:
            dataset, data = name, read_folder(DATA / name)
            temporal = hold(temporal_similarity(data.source, data.target, memory_limit=LIMIT), LIMIT)
        for number, seed in enumerate(map(int, options.seeds.split(","))):
            config = Config.checked(method="dualmatch", seed=seed, **variant)
            measure(data, temporal, setting, config, every_weight=number == 0)


def measure(data: BenchmarkFolder, temporal: Similarity, setting: str, config: Config, every_weight: bool) -> None:
    seeds, groups = pairs_of(data, setting)
    if setting == "unsupervised":
        kernel = kernel_of(temporal, config.sharpness, LIMIT)
        seeds = mutual_best(sinkhorn(kernel).best(), sinkhorn(kernel, first="columns").best()).pairs
        del kernel
    start = time.perf_counter()
    pseudo = setting == "unsupervised"
    relational = hold(relational_similarity(data.source, data.target, seeds, config, pseudo=pseudo), LIMIT)
    trained = time.perf_counter()
    problem = matching_problem(data.source, data.target, seeds, config.wl_iterations)
    decoded = decode(temporal, relational, problem, config.alphas, memory_limit=LIMIT)
    line = {
        "dataset": data.path.name,
        "setting": setting,
        "seed": config.seed,
        "reflection": config.reflection,
        "negatives": config.negatives,
        "dimension": config.dimension,
        "alpha": decoded.alpha,
        "h1": hits(decoded, groups),
        "distance": {alpha: round(d.total, 2) for alpha, d in decoded.distances.items()},
        "relational": {alpha: round(d.relational, 2) for alpha, d in decoded.distances.items()},
        "temporal": {alpha: round(d.temporal, 2) for alpha, d in decoded.distances.items()},
        "seconds": {"train": round(trained - start, 1), "decode": round(time.perf_counter() - trained, 1)},
    }
    if every_weight:
        line["h1_at"] = {
            alpha: hits(decode(temporal, relational, problem, [alpha], memory_limit=LIMIT), groups)
            for alpha in config.alphas
        }
    print(json.dumps(line), flush=True)


def pairs_of(data: BenchmarkFolder, setting: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Seeds and groups of tested pairs, as `dualmatch benchmark` has them."""
    supervision, reference = (data.read_pairs(data.path / name) for name in ("sup_pairs", "ref_pairs"))
    n_seeds = 0 if setting == "unsupervised" else int(setting)
    tested = np.concatenate([supervision[n_seeds:], reference])
    suffix = {0: "2", 400: "1", 2000: ""}.get(n_seeds)
    if suffix is None or not (data.path / f"time_sensitive_link{suffix}").exists():
        return supervision[:n_seeds], {"all": tested}
    files = {"high": f"time_sensitive_link{suffix}", "low": f"not_sensitive_link{suffix}"}
    groups = {name: common_pairs(data.read_pairs(data.path / file), tested) for name, file in files.items()}
    return supervision[:n_seeds], groups


def hits(decoded: Decoded, groups: dict[str, np.ndarray]) -> dict[str, float]:
    return {name: round(paper_ranking(decoded.plan, pairs).h1, 2) for name, pairs in groups.items()}


if __name__ == "__main__":
    main()

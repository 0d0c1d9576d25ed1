"""What a constant of the core is worth: the rows of the suite with another value in its place.

    python benchmarks/sweep.py relations._LEAST_COSINE=0.1,0.3 tokens._RELATION_FACTOR=0.1,0.4
    python benchmarks/sweep.py --only dicews learning._PROFILE_WEIGHT=2.5,10

A constant is named by its module in the evidence channel, in the method or in `decode`, or by more of its path
(channels.names._N_SIMILAR). Printed are F1 of every row as it is (of known pairs, where gold is partial), and by how
much each value changes it, in thousandths; then the same of the ECE of all pairs. A row runs once for each value.
"""

from __future__ import annotations

import argparse
import importlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from dualmatch.evaluate import abstention, calibration_of_all
from dualmatch.methods.align import align
from dualmatch.readers.benchmark_folder import read_folder
from dualmatch.research.benchmark import _labels
from suite import DATA, REAL, SIMULATED, Made

ROOMS = ("channels.evidence.", "methods.evidence.", "decode.", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("constants", nargs="*", metavar="MODULE.NAME=VALUE,…")
    parser.add_argument("--only", default="", help="rows whose name holds this, or one of several: yago,dicews")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)
    wanted = [name for name in (*REAL, *SIMULATED) if any(text in name for text in asked.only.split(","))]
    names = [name for name in wanted if name not in ("unrelated", "nothing shared")]
    print(f"{'':42s} " + " ".join(f"{name[:14]:>14s}" for name in names))
    rows = {name: _made(name) for name in names if name not in REAL or (DATA / REAL[name].folder).is_dir()}
    as_it_is = {name: _figures(made, name in REAL) for name, made in rows.items()}
    print(f"{'as it is':42s} " + " ".join(f"{f1:7.4f} {ece:6.3f}" for f1, ece in as_it_is.values()), flush=True)
    for constant in asked.constants:
        where, values = constant.split("=")
        for value in values.split(","):
            with _set(where, value):
                found = {name: _figures(made, name in REAL) for name, made in rows.items()}
            cells = (
                f"{1000 * (found[name][0] - f1):+7.1f} {1000 * (found[name][1] - ece):+6.0f}"
                for name, (f1, ece) in as_it_is.items()
            )
            print(f"{f'{where} {value}':42s} " + " ".join(cells), flush=True)


@contextmanager
def _set(where: str, value: str) -> Iterator[None]:
    """Another value of a constant, for a while."""
    path, name = where.rsplit(".", 1)
    for room in ROOMS:
        try:
            module = importlib.import_module(f"dualmatch.{room}{path}")
        except ModuleNotFoundError:
            continue
        before = getattr(module, name)
        setattr(module, name, type(before)(float(value)))
        yield
        setattr(module, name, before)
        return
    raise SystemExit(f"{where}: no such module")


def _made(name: str) -> Made:
    """The graphs of a row, whether real or simulated."""
    if name in SIMULATED:
        return SIMULATED[name]()
    of = REAL[name]
    folder = DATA / of.folder
    data = read_folder(folder)
    supervision, reference = data.read_pairs("sup_pairs"), data.read_pairs("ref_pairs")
    gold = np.concatenate([supervision, reference]).astype(np.int64)
    seeds = None if of.seed_pairs is None else supervision[: of.seed_pairs].astype(np.int64)
    literals = None if of.labels is None else _labels(data, (folder / of.labels[0], folder / of.labels[1]), folder)
    return Made(data.source, data.target, gold, literals, seeds)


def _figures(made: Made, is_partial: bool) -> tuple[float, float]:
    """F1, and ECE of all pairs."""
    alignment = align(made.source, made.target, made.seeds, literals=made.literals)
    gold = made.gold.astype(np.int32)
    is_seed = np.zeros(0) if made.seeds is None else made.seeds[:, 0]
    tested = gold[~np.isin(gold[:, 0], is_seed)]
    found = abstention(alignment, gold, tested)
    f1 = found.known.f1 if is_partial else found.f1
    return f1 or 0.0, calibration_of_all(alignment, gold, tested).ece or 0.0


if __name__ == "__main__":
    main()

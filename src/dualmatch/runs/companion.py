"""The companion of an alignment file: what ``dualmatch explain`` needs, so that it need not align again.

``OUT.why.npz`` lies beside ``OUT``. It holds row numbers and what the rounds believed, no facts and no names: those are
read from the input files again, which must be the same to the byte. No pickle; the same run writes the same bytes.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy import sparse as sp

from dualmatch.config import EXPLAINED, Config
from dualmatch.decode.forbidden import Forbidden
from dualmatch.errors import InputError
from dualmatch.explain.basis import ExplanationBasis, basis_of, no_evidence
from dualmatch.explain.explain import explain_entity
from dualmatch.explain.explanation import Explanation
from dualmatch.files.atomic import newest, replacing
from dualmatch.files.compressed import STANDARD_INPUT
from dualmatch.files.fingerprint import sha256_of
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.runs.input_spec import Recipe
from dualmatch.runs.kept_graphs import KEPT_GRAPHS, keeps_graphs
from dualmatch.runs.options_file import links_file
from dualmatch.runs.stages import about_state, state_as_arrays, state_of, state_of_chances

_FORMAT: Final = 3
_FORMAT_0_1_0: Final = 2  # candidates and their chances, but no state of the rounds
_SUFFIX: Final = ".why.npz"


def companion_of(path: Path) -> Path:
    """Where the companion of an alignment file lies.

    >>> str(companion_of(Path("out/links.tsv")))
    'out/links.tsv.why.npz'
    """
    return path.with_name(path.name + _SUFFIX)


def input_hashes(recipe: Recipe, known: Mapping[str, str | None] | None = None) -> dict[str, str | None]:
    """SHA-256 of each file that a recipe reads, by its whole path; None where it is not there.

    Parameters
    ----------
    known:
        Hashes that were taken already, when the run began.
    """
    known, hashes = known or {}, {}
    for path in recipe.files:
        name = str(path.resolve())
        hashes[name] = known[name] if name in known else sha256_of(path) if path.is_file() else None
    return hashes


def write_companion(alignment: Alignment, path: Path, recipe: Recipe, inputs: Mapping[str, str | None]) -> None:
    """Write what explains an alignment beside its file.

    Parameters
    ----------
    path:
        The alignment file, written already.
    recipe, inputs:
        Where the graphs came from, and `input_hashes` of it taken when they were read.
    """
    grounds = basis_of(alignment)
    about = {
        "format": _FORMAT,
        "version": alignment.version,
        "method": alignment.method,
        "config": alignment.config.model_dump(mode="json"),
        "recipe": recipe.as_dict(),
        "inputs": dict(inputs),
        "alignment": sha256_of(newest(path)),
        "state": about_state(grounds.state),
        "trial": grounds.trial.as_dict(),
    }
    arrays: dict[str, Any] = {
        "pairs": grounds.pairs,
        "confidence": grounds.confidence,
        "is_seed": grounds.is_seed,
        **{f"state.{name}": array for name, array in state_as_arrays(grounds.state).items()},
        "candidates.data": grounds.candidates.data,
        "candidates.indices": grounds.candidates.indices.astype(np.int32),
        "candidates.indptr": grounds.candidates.indptr.astype(np.int64),
    }
    if len(grounds.forbidden):
        arrays["forbidden"] = grounds.forbidden.pairs
    text = np.frombuffer(json.dumps(about, sort_keys=True).encode(), np.uint8)
    with replacing(companion_of(path)) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, about=text, **arrays)


@dataclass(frozen=True, eq=False)
class ExplainedRun:
    """A written alignment with all that it rests on: enough to explain it, and to do it again.

    Attributes
    ----------
    options:
        Those of `Config` by name. A run of another version may have some that this one does not know; explaining it
        needs none of them.
    recipe, inputs:
        Where the graphs come from, and `input_hashes` of it.
    """

    grounds: ExplanationBasis
    options: Mapping[str, Any]
    recipe: Recipe
    inputs: Mapping[str, str | None]

    @property
    def config(self) -> Config:
        """To do it again; a `ConfigError` where this version does not know an option."""
        return Config.checked(**self.options)


def read_explanation_basis(path: str | Path, folder: str | Path | None = None) -> ExplanationBasis:
    """The grounds of a written alignment; see `read_run`."""
    return read_run(path, folder).grounds


def explain(
    alignment: Alignment | ExplanationBasis | str | Path, entity: str, *, target: bool = False, versus: str | None = None
) -> Explanation:
    """Say why an entity was given its partner, or none.

    Parameters
    ----------
    alignment:
        An alignment of method ``evidence``, the path of a written one, or its `ExplanationBasis` (read once with
        `read_explanation_basis`, asked often).
    entity:
        Name of a source entity, or its id in the input files.
    target:
        Ask for a target entity instead.
    versus:
        An entity of the other graph to compare the partner with, in place of the other candidates.

    Raises
    ------
    InputError
        Where the entity is not known, or nothing was kept that could explain.

    Examples
    --------
    >>> from dualmatch import TemporalGraph, align, explain
    >>> yago = TemporalGraph.from_facts([("Ada", "met", "Charles", "1833"), ("Charles", "wrote", "Book", "1864")])
    >>> wiki = TemporalGraph.from_facts([("Q9", "P50", "Q8", "1864"), ("Q7", "P2", "Q9", "1833")])
    >>> why = explain(align(yago, wiki, method="evidence"), "Ada")
    >>> why.match, str(why.shared[0])
    ('Q7', 'met (= P2) → Charles (= Q9), in 1833')
    """
    known = read_explanation_basis(alignment) if isinstance(alignment, str | Path) else alignment
    return explain_entity(known, entity, target=target, versus=versus)


def read_run(path: str | Path, folder: str | Path | None = None) -> ExplainedRun:
    """A written alignment and what it rests on.

    Parameters
    ----------
    path:
        The alignment file.
    folder:
        The folder all input files lie in now, if they are no longer where they were. Graphs that a run keeps itself
        are looked for beside its links without being told: the folder of a run may be moved.

    Raises
    ------
    InputError
        Where there is no companion, or inputs are gone or have changed.
    """
    path = Path(path)
    companion = companion_of(path)
    if not companion.exists():
        _refuse_without_evidence(path)
        raise InputError(
            f"{companion}: no such file; it is written beside the links: keep both together, or align again (from "
            "files: a graph from standard input cannot be read again, so such a run writes none)"
        )
    stored = _read(companion)
    if sha256_of(path) != stored.about["alignment"]:
        _refuse_without_evidence(path)
        raise InputError(f"{path}: has changed since it was written, so {companion.name} is not about it; align again")
    place = _place_of(stored.recipe, _moved_run(stored, path) if folder is None else Path(folder))
    _check_inputs({place(Path(each)): sha256 for each, sha256 in stored.about["inputs"].items()}, companion)
    recipe = stored.recipe.moved(place)
    sides = recipe.read()
    shape = (sides.source.n_entities, sides.target.n_entities)
    arrays = stored.arrays
    try:
        candidates = sp.csr_array(
            tuple(arrays[f"candidates.{part}"] for part in ("data", "indices", "indptr")), shape=shape
        )
        if stored.about["format"] == _FORMAT_0_1_0:
            n_directed = 2 * sides.source.n_relations, 2 * sides.target.n_relations
            state, trial = state_of_chances(candidates, n_directed), Confidence.as_they_are()
        else:
            own = {name.removeprefix("state."): array for name, array in arrays.items() if name.startswith("state.")}
            state, trial = state_of(stored.about["state"], own), Confidence.from_dict(stored.about["trial"])
        grounds = ExplanationBasis(
            sides.source,
            sides.target,
            state,
            trial,
            candidates,
            arrays["pairs"],
            arrays["confidence"],
            arrays["is_seed"],
            None if sides.folder is None else sides.folder.source_ids,
            None if sides.folder is None else sides.folder.target_ids,
            sides.literals,
            stored.about["config"].get("many_to_one", False),
            Forbidden(arrays.get("forbidden", np.zeros((0, 2), np.int32))),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise _unreadable(companion, error) from error
    hashes = {str(place(Path(each)).resolve()): sha256 for each, sha256 in stored.about["inputs"].items()}
    return ExplainedRun(grounds, stored.about["config"], recipe, hashes)


def _refuse_without_evidence(path: Path) -> None:
    method = links_file(path).method
    if method is not None and method not in EXPLAINED:
        raise InputError(f"{path}: {no_evidence(method)}")


@dataclass(frozen=True, eq=False)
class _Stored:
    about: dict[str, Any]
    recipe: Recipe
    arrays: dict[str, Any]


def _read(companion: Path) -> _Stored:
    try:
        with companion.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            about = json.loads(stored["about"].tobytes())
            arrays = {name: stored[name] for name in stored.files if name != "about"}
        if about["format"] not in (_FORMAT_0_1_0, _FORMAT):
            raise ValueError(f"format {about['format']}, not {_FORMAT}")
        for name, kind in (("config", dict), ("inputs", dict), ("alignment", str)):
            if not isinstance(about[name], kind):
                raise ValueError(f"{name} is no {kind.__name__}")
        recipe = Recipe.from_dict(about["recipe"])
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _unreadable(companion, error) from error
    return _Stored(about, recipe, arrays)


def _place_of(recipe: Recipe, folder: Path | None) -> Callable[[Path], Path]:
    """Where a path of the recipe is now: where it was, or in another folder under its own name."""

    def place(path: Path) -> Path:
        if folder is None or path == STANDARD_INPUT:
            return path
        if recipe.is_folder and path.is_relative_to(recipe.paths[0]):
            return folder / path.relative_to(recipe.paths[0])
        return folder / path.name

    return place


def _moved_run(stored: _Stored, links: Path) -> Path | None:
    """Where the folder of a run is now that keeps the graphs of these links; None where it was not moved."""
    if not stored.recipe.is_folder or not keeps_graphs(links.parent):
        return None
    before = stored.recipe.paths[0] / KEPT_GRAPHS
    sha256 = stored.about["inputs"].get(str(before))
    is_moved = sha256 is not None and not before.exists() and sha256_of(links.parent / KEPT_GRAPHS) == sha256
    return links.parent if is_moved else None


def _check_inputs(hashes: Mapping[Path, str | None], companion: Path) -> None:
    """Every input must be what it was: row numbers in the companion are rows of those files."""
    wrong = []
    for path, sha256 in hashes.items():
        there = path.is_file()
        if sha256 is not None and not there:
            wrong.append(f"{path}: is gone; if it lies elsewhere now, say where with --folder, else align again")
        elif there and (sha256 is None or sha256_of(path) != sha256):
            wrong.append(f"{path}: has changed since {companion.name} was written; bring it back, or align again")
    if wrong:
        raise InputError("\n".join(wrong))


def _unreadable(companion: Path, error: Exception) -> InputError:
    return InputError(f"{companion}: cannot be read as the companion of an alignment ({error}); align again")

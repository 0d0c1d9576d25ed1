"""The companion of an alignment file: what ``dualmatch explain`` needs, so that it need not align again.

``OUT.why.npz`` lies beside ``OUT``. It holds row numbers and the state of the rounds, no facts and no names: those are
read from the input files again, which must be the same to the byte. No pickle; the same run writes the same bytes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from dualmatch.files.atomic import Transaction
from dualmatch.files.compressed import STANDARD_INPUT
from dualmatch.files.fingerprint import sha256_of
from dualmatch.files.npz import Arrays, Stored, load_arrays, read_as, write_arrays
from dualmatch.graph.model import TemporalGraph
from dualmatch.methods.alignment import Alignment
from dualmatch.methods.evidence.confidence import Confidence
from dualmatch.readers.shown_labels import with_files_shown
from dualmatch.runs.graph_pair import KEPT_GRAPHS, GraphPair, checked_pairs, keeps_graphs
from dualmatch.runs.input_spec import InputSpec
from dualmatch.runs.options_file import config_of, links_file, record_of
from dualmatch.runs.record import RunRecord, read_record
from dualmatch.runs.stages import about_state, check_state, state_as_arrays, state_of, state_of_chances

logger = logging.getLogger(__name__)
_KIND: Final = ("the companion of an alignment", "align again")
_FORMAT: Final = 4
_FORMATS_BEFORE: Final = (2, 3)  # with options, inputs and hashes in the companion itself; 0.1.0 wrote 2


def companion_of(path: Path) -> Path:
    """Where the companion of an alignment file lies.

    >>> str(companion_of(Path("out/links.tsv")))
    'out/links.tsv.why.npz'
    """
    return path.with_name(f"{path.name}.why.npz")


def write_companion(alignment: Alignment, path: Path, together: Transaction) -> None:
    """Write what explains an alignment beside its file."""
    basis = basis_of(alignment)
    about = {"format": _FORMAT, "state": about_state(basis.state), "trial": basis.trial.as_dict()}
    arrays: Arrays = {
        "pairs": basis.pairs,
        "confidence": basis.confidence,
        "is_seed": basis.is_seed,
        **{f"state.{name}": array for name, array in state_as_arrays(basis.state).items()},
        "candidates.data": basis.candidates.data,
        "candidates.indices": basis.candidates.indices.astype(np.int32),
        "candidates.indptr": basis.candidates.indptr.astype(np.int64),
    }
    if len(basis.forbidden):
        arrays["forbidden"] = basis.forbidden.pairs
    write_arrays(companion_of(path), about, arrays, compressed=True, together=together)


@dataclass(frozen=True, eq=False)
class ExplainedRun:
    """A written alignment with all that it rests on: enough to explain it, and to repeat it."""

    basis: ExplanationBasis
    options: Mapping[str, Any]  # of `Config`; those of another version may be unknown to this one
    spec: InputSpec
    inputs: Mapping[str, str | None]  # hashes of the spec's files

    @property
    def config(self) -> Config:
        """The options to repeat it with; a `ConfigError` where this version does not know one."""
        return config_of(self.options)


def explain(
    alignment: Alignment | ExplanationBasis | str | Path,
    entity: str,
    *,
    target: bool = False,
    versus: str | None = None,
) -> Explanation:
    """Explain why an entity was given its partner, or none.

    Parameters
    ----------
    alignment:
        An alignment of method ``evidence``, the path of a written one, or its `ExplanationBasis` (read once with
        `read_explanation_basis`, used often).
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
    if not isinstance(known, Alignment | ExplanationBasis):
        raise InputError(f"{known!r} is not an alignment; give one, or the path of a file of links")
    return explain_entity(known, entity, target=target, versus=versus)


def read_explanation_basis(
    path: str | Path, folder: str | Path | None = None, show_labels: Sequence[str | Path] = ()
) -> ExplanationBasis:
    """Read what explains a written alignment; see `read_run`."""
    return read_run(path, folder, show_labels).basis


def read_run(
    path: str | Path, folder: str | Path | None = None, show_labels: Sequence[str | Path] = ()
) -> ExplainedRun:
    """A written alignment and what it rests on; an `InputError` where inputs are gone or have changed.

    `path`: the alignment file. `folder`: the folder all input files lie in now, if they were moved. Graphs that a run
    keeps itself are found beside its links anyway: the folder of a run may be moved. `show_labels`: files of labels to
    show (one for both sides, or one for each), in place of those that the run was given.
    """
    path = Path(path)
    companion = companion_of(path)
    if not companion.exists():
        _refuse_without_evidence(path)
        raise InputError(
            f"{companion}: no such file; it is written beside the links: keep both together, or align again (from "
            "files: a graph from standard input cannot be read again, so such a run writes none)"
        )
    record = read_record(path)
    with read_as(companion, *_KIND):
        stored = load_arrays(companion)
        options, spec, hashes, written = _about_run(stored.about, path, record)
    if sha256_of(path) != written:
        _refuse_without_evidence(path)
        raise InputError(f"{path}: has changed since it was written, so {companion.name} is not about it; align again")
    place = _place_of(spec, _moved_run(spec, hashes, path) if folder is None else Path(folder))
    inputs = {place(Path(each)): sha256 for each, sha256 in hashes.items()}
    _check_inputs(inputs, companion)
    spec = spec.moved(place)
    pair = spec.read()
    with read_as(companion, *_KIND):
        basis = _basis(stored, pair, bool(options.get("many_to_one", False)))
    kept = () if record is None else record.call.show_labels
    shown = _shown(basis, [Path(each) for each in show_labels], kept, place)
    basis = replace(basis, source=shown[0], target=shown[1])
    return ExplainedRun(basis, options, spec, {str(each.resolve()): sha256 for each, sha256 in inputs.items()})


def _about_run(
    about: Mapping[str, Any], links: Path, record: RunRecord | None
) -> tuple[dict[str, Any], InputSpec, dict[str, str | None], str]:
    """The options of `Config`, which graphs were read, the hashes of their files and that of the links."""
    if about["format"] in _FORMATS_BEFORE:
        for name, kind in (("config", dict), ("inputs", dict), ("alignment", str)):
            if not isinstance(about[name], kind):
                raise ValueError(f"{name} is not a {kind.__name__}")
        return about["config"], InputSpec.from_dict(about["recipe"]), about["inputs"], about["alignment"]
    if about["format"] != _FORMAT:
        raise ValueError(f"format {about['format']}, not {_FORMAT}")
    if record is None:
        raise InputError(
            f"{record_of(links)}: no such file; it is written beside the links: keep both together, or align again"
        )
    # Not by the names they have now: all three may have been renamed together.
    written = record.results.get(record.outputs.get("links", ""))
    if written is None:
        raise InputError(f"{record_of(links)}: names no links; restore it as it was written, or align again")
    if not any(each.fits(companion_of(links)) for each in record.results.values()):
        raise ValueError(f"it is not the file that {record_of(links).name} is about")
    return dict(record.run_options.options), record.spec, record.hashes, written.sha256


def _basis(stored: Stored, pair: GraphPair, many_to_one: bool) -> ExplanationBasis:
    about, arrays, folder = stored.about, stored.arrays, pair.folder
    graphs = pair.source, pair.target
    candidates = sp.csr_array(stored.matrix("candidates", (graphs[0].n_entities, graphs[1].n_entities)))
    if "state" not in about:  # 0.1.0 kept candidates and their chances
        state = state_of_chances(candidates, (2 * pair.source.n_relations, 2 * pair.target.n_relations))
        trial = Confidence.as_they_are()
    else:
        own = {name.removeprefix("state."): array for name, array in arrays.items() if name.startswith("state.")}
        state, trial = state_of(about["state"], own), Confidence.from_dict(about["trial"])
        check_state(state, graphs)
    pairs = checked_pairs(stored, "pairs", graphs)
    return ExplanationBasis(
        pair.source,
        pair.target,
        state,
        trial,
        candidates,
        pairs,
        stored.array("confidence", "chance", len(pairs)),
        stored.array("is_seed", "flag", len(pairs)),
        None if folder is None else folder.source_ids,
        None if folder is None else folder.target_ids,
        pair.literals,
        many_to_one,
        Forbidden(checked_pairs(stored, "forbidden", graphs) if "forbidden" in arrays else np.zeros((0, 2), np.int32)),
    )


def _shown(
    basis: ExplanationBasis, given: Sequence[Path], kept: Sequence[Path], place: Callable[[Path], Path]
) -> tuple[TemporalGraph, TemporalGraph]:
    """Both graphs with labels to show: `given` ones, else those `kept` with the run; these may be gone."""
    try:
        return with_files_shown(basis.source, basis.target, given or [*map(place, kept)])
    except InputError as error:
        if given:
            raise
        logger.warning("labels are not shown; give --show-labels again to have them: %s", error)
        return basis.source, basis.target


def _refuse_without_evidence(path: Path) -> None:
    method = links_file(path).method
    if method is not None and method not in EXPLAINED:
        raise InputError(f"{path}: {no_evidence(method)}")


def _place_of(spec: InputSpec, folder: Path | None) -> Callable[[Path], Path]:
    """Where an input is now: where it was, or in another folder under its own name."""

    def place(path: Path) -> Path:
        if folder is None or path == STANDARD_INPUT:
            return path
        if spec.is_folder and path.is_relative_to(spec.paths[0]):
            return folder / path.relative_to(spec.paths[0])
        return folder / path.name

    return place


def _moved_run(spec: InputSpec, inputs: Mapping[str, str | None], links: Path) -> Path | None:
    """Where the folder of a run is now that keeps the graphs of these links; None where it was not moved."""
    if not spec.is_folder or not keeps_graphs(links.parent):
        return None
    before = spec.paths[0] / KEPT_GRAPHS
    sha256 = inputs.get(str(before))
    is_moved = sha256 is not None and not before.exists() and sha256_of(links.parent / KEPT_GRAPHS) == sha256
    return links.parent if is_moved else None


def _check_inputs(hashes: Mapping[Path, str | None], companion: Path) -> None:
    """Every input must be what it was: row numbers in the companion are rows of those files."""
    wrong = []
    for path, sha256 in hashes.items():
        exists = path.is_file()
        if sha256 is not None and not exists:
            wrong.append(f"{path}: is gone; if it has moved, name its folder with --folder, otherwise align again")
        elif exists and (sha256 is None or sha256_of(path) != sha256):
            wrong.append(f"{path}: has changed since {companion.name} was written; bring it back, or align again")
    if wrong:
        raise InputError("\n".join(wrong))

"""What a run of ``dualmatch align`` writes: checked before the work begins, written when all of it is done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dualmatch.alignment import Alignment
from dualmatch.errors import OutputError
from dualmatch.io.atomic import check_writable
from dualmatch.io.links import checked_links, link_table
from dualmatch.io.relations import relation_table
from dualmatch.io.tables import checked_table, write_table
from dualmatch.io.why import companion_of, write_companion


@dataclass(frozen=True)
class Outputs:
    """Where the results of one run go.

    Attributes
    ----------
    links:
        The alignment file.
    relations:
        The relation file, where it is asked for.
    explained:
        Whether the companion that ``dualmatch explain`` reads goes beside the links.
    """

    links: Path
    relations: Path | None
    explained: bool

    @property
    def paths(self) -> list[Path]:
        companion = companion_of(self.links) if self.explained else None
        return [path for path in (self.links, self.relations, companion) if path is not None]

    def check(self, inputs: Iterable[Path], force: bool) -> None:
        """Refuse early what writing would refuse late, and what would overwrite an input or another output."""
        taken = {path.resolve() for path in inputs}
        for path in self.paths:
            place = path.resolve()
            if place in taken:
                raise OutputError(f"{path}: is read or written by this very run already; choose another name")
            taken.add(place)
            check_writable(path, force)

    def write(
        self, alignment: Alignment, reasons: Sequence[str] | None, folder: Path, inputs: Mapping[str, str]
    ) -> None:
        """Write everything; nothing, where a name cannot be written.

        Parameters
        ----------
        reasons:
            A text for each source row, for the column ``reasons``.
        folder, inputs:
            For the companion: where the graphs came from, and the hashes of its files.
        """
        links = checked_links(link_table(alignment, reasons), self.links)
        if self.relations is not None:
            write_table(checked_table(relation_table(alignment), self.relations), self.relations)
        write_table(links, self.links)
        if self.explained:
            write_companion(alignment, self.links, folder, inputs)

"""Files that arrive by a form: streamed to where the user said, under names of ours, and no larger than allowed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from dualmatch.app.workspace import LONGEST_CALLED, SIDES
from dualmatch.charts.markup import visible
from dualmatch.files.compressed import PACKED
from dualmatch.readers.read import FORMATS

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

EXTENSIONS: Final = tuple(
    f"{extension}{packed}"
    for extension, packed in product(
        (*(end for each in FORMATS.values() for end in each.extensions), ".txt"), ("", *PACKED)
    )
)
"""How the name of a file may end."""
_SILENCE: Final = 30.0
"""Seconds in which the next piece must arrive."""
_MOST_PARTS: Final = 8
PAIRS: Final = tuple(f"{extension}{packed}" for extension, packed in product((".tsv", ".txt", ".csv"), ("", *PACKED)))
_LONGEST_WORD: Final = 40  # of a field that is no file
_MOST_HEADERS: Final = 16  # of a part; older versions of the parser count none
_LARGEST_HEADER: Final = 8192
SEEDS: Final = "seeds"


def kept_name(called: str, ends: Sequence[str] = EXTENSIONS) -> str | None:
    """The name under which a file is kept: letters, digits and an extension that we know; None where it has none.

    >>> kept_name("../../Ådas Archive (2).CSV.gz")
    'das-Archive-2.csv.gz'
    >>> kept_name("run.sh") is None
    True
    """
    base = _base(called)
    end = next((end for end in sorted(ends, key=len, reverse=True) if base.lower().endswith(end)), None)
    if end is None:
        return None
    stem = re.sub("[^A-Za-z0-9_]+", "-", base[: -len(end)])[:60].strip("-")
    return f"{stem or 'file'}{end}"


def _base(called: str) -> str:
    return re.split(r"[/\\]", called)[-1]


async def receive_files(request: Request, draft: Path, most: int) -> tuple[tuple[Path, Path], tuple[str, str]]:
    """Write the files of the fields ``source`` and ``target`` into the folders of a draft.

    Where they are, relative, and what they were called. `most`: bytes that a file may have. An `HTTPException` says
    what is wrong.
    """
    form = _Form(draft, most, dict.fromkeys(SIDES, EXTENSIONS))
    await _receive(request, form)
    missing = [side for side in SIDES if side not in form.found]
    if missing:
        raise HTTPException(400, f"Choose two files; the {' and the '.join(missing)} is missing.")
    (source, source_called), (target, target_called) = (form.found[side] for side in SIDES)
    return (source, target), (source_called, target_called)


async def receive_choices(
    request: Request, draft: Path, most: int
) -> tuple[Mapping[str, str], tuple[Path, str] | None]:
    """The words of a form, and the file of its field ``seeds``, if there is one: where it is, what it was called."""
    (draft / SEEDS).mkdir()
    form = _Form(draft, most, {SEEDS: PAIRS})
    await _receive(request, form)
    path, called = form.found.get(SEEDS, (None, ""))
    return form.words, None if path is None else (draft / path, called)


def is_multipart(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip() == "multipart/form-data"


async def _receive(request: Request, form: _Form) -> None:
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise HTTPException(415, "Send a form with files.")
    parser = MultipartParser(options[b"boundary"], form.callbacks)
    try:
        stream = request.stream().__aiter__()
        while True:
            async with asyncio.timeout(_SILENCE):
                piece = await anext(stream, None)
            if piece is None:
                break
            form.check_total(len(piece))
            if form.trouble is None:  # else the rest is thrown away: a browser shows no answer before it has sent all
                parser.write(piece)
        if form.trouble is None:
            parser.finalize()
    except TimeoutError:
        raise HTTPException(408, "The files did not arrive in time.") from None
    except (ClientDisconnect, FormParserError):
        raise HTTPException(400, "The files did not arrive whole.") from None
    except OSError as error:
        raise HTTPException(507, f"The files cannot be kept ({error.strerror}); free some space.") from None
    finally:
        form.close()
    if form.trouble is not None:
        raise form.trouble
    if not form.is_whole:
        raise HTTPException(400, "The files did not arrive whole.")


class _Form:
    """Receives the parts of a form: files of some fields, each with the endings that its name may have, and words."""

    def __init__(self, draft: Path, most: int, fields: Mapping[str, Sequence[str]]) -> None:
        self._draft, self._most, self._fields = draft, most, fields
        self.words: dict[str, str] = {}
        self._word: str | None = None  # the field that arrives, if it is no file
        self._received = self._parts = self._count = 0
        self.is_whole = False
        self.trouble: HTTPException | None = None
        self.found: dict[str, tuple[Path, str]] = {}
        self._file: BinaryIO | None = None
        self._written = 0
        self._field, self._value, self._headers = b"", b"", dict[bytes, bytes]()
        self.callbacks: MultipartCallbacks = {
            "on_part_begin": self._begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._data,
            "on_part_end": self.close,
            "on_end": self._end,
        }

    def check_total(self, length: int) -> None:
        self._received += length
        if self._received > 4 * self._most + (1 << 20):
            raise HTTPException(413, "The upload is too large.")

    def _end(self) -> None:
        self.is_whole = True

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise HTTPException(400, "The form has too many parts.")
        self._headers, self._count, self._field, self._value = {}, 0, b"", b""
        self._word = None

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._field = self._bounded(self._field + data[start:end])

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value = self._bounded(self._value + data[start:end])

    def _bounded(self, header: bytes) -> bytes:
        if len(header) > _LARGEST_HEADER:
            raise HTTPException(400, "The form has a heading too long.")
        return header

    def _header_end(self) -> None:
        self._count += 1
        if self._count > _MOST_HEADERS:
            raise HTTPException(400, "The form has a part with too many headings.")
        self._headers[self._field.lower()] = self._value
        self._field, self._value = b"", b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        field, called = (options.get(name, b"").decode("utf-8", "replace") for name in (b"name", b"filename"))
        if b"filename" not in options and field not in self._fields:
            self._word = field[:_LONGEST_WORD]
            self.words[self._word] = ""
        if field not in self._fields or field in self.found or not called:
            return  # no file chosen: its data is left out
        name = kept_name(called, self._fields[field])
        if name is None:
            words = "its name does not show what it is; a table ends in .csv, .tsv or "
            words += ".txt" if field == SEEDS else ".parquet, RDF in .nt, .ttl, .rdf or .jsonld, Wikidata's in .json"
            self.trouble = HTTPException(422, f"{visible(called, 80)}: {words}")
            return
        path = Path(field, name)
        self._file, self._written = (self._draft / path).open("xb"), 0
        self.found[field] = path, _base(called)[:LONGEST_CALLED]

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._word is not None:
            word = self.words[self._word] + data[start:end].decode("utf-8", "replace")
            self.words[self._word] = word[:_LONGEST_WORD]
        if self._file is None:
            return
        self._written += end - start
        if self._written > self._most:
            most = f"{self._most / 1e6:,.0f} MB"
            words = f"A file may have {most} here; for more, restart with dualmatch app --max-upload SIZE."
            self.trouble = HTTPException(413, words)
            self.close()
            return
        self._file.write(memoryview(data)[start:end])

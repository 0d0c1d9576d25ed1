"""SSSOM, the Simple Standard for Sharing Ontological Mappings: its TSV form, version 1.0, canonical.

https://mapping-commons.github.io/sssom/spec-formats-tsv
"""

from __future__ import annotations

import csv
import io
import json
import re
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, Final, get_args
from urllib.parse import quote, unquote

import polars as pl

from dualmatch.files.table_writer import DECIMALS
from dualmatch.links.naming import BUILT_IN, Naming, Side, decoded
from dualmatch.version import __version__

NO_TERM: Final = "sssom:NoTermFound"
PREDICATE: Final = "skos:exactMatch"
UNSPECIFIED_LICENSE: Final = "https://w3id.org/sssom/license/unspecified"
_CORE: Final = ("subject_id", "predicate_id", "object_id", "mapping_justification")
_JUSTIFICATIONS: Final = {"seed": "semapv:UnspecifiedMatching", "review": "semapv:ManualMappingCuration"}
_OTHER: Final = "#other: "
_SLOTS: Final = dict(zip(get_args(Side), ("subject", "object"), strict=True))
_PLAIN_YAML: Final = re.compile(r"[A-Za-z0-9/][A-Za-z0-9 ./:_-]*\Z")


def write_sssom(table: pl.DataFrame, out: BinaryIO, naming: Naming) -> None:
    """Write links; an entity without a match maps to ``sssom:NoTermFound``, with the confidence that it has none.

    Undecided entities are left out. IRIs that no prefix covers are given one. Labels come from columns
    ``source_label`` and ``target_label``, where there are such.
    """
    rows = [row for row in table.iter_rows(named=True) if row.get("verdict") != "undecided"]
    naming = naming.covering(row[end] for row in rows for end in ("source", "target") if row[end] is not None)
    mappings = [_mapping(row, naming) for row in rows]
    slots = mappings[0] if mappings else _CORE
    columns = [name for name in slots if name in _CORE or any(mapping[name] for mapping in mappings)]
    body = io.StringIO()
    writer = csv.writer(body, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(columns)
    writer.writerows([mapping[name] for name in columns] for mapping in mappings)
    out.write(_metadata(mappings, naming, body.getvalue()).encode())
    out.write(body.getvalue().encode())


def _mapping(row: Mapping[str, Any], naming: Naming) -> dict[str, str]:
    """A mapping's slots, in the order of the specification."""
    source, target, confidence, method = (row[name] for name in ("source", "target", "confidence", "method"))
    comment = [f"method {method}" if method else "", row.get("reasons") or ""]
    subject, name = _identified(source, "source", naming)
    other, other_name = (NO_TERM, "") if target is None else _identified(target, "target", naming)
    return {
        "subject_id": subject,
        "subject_label": row.get("source_label") or "",
        "predicate_id": PREDICATE,
        "predicate_modifier": row.get("predicate_modifier") or "",
        "object_id": other,
        "object_label": row.get("target_label") or "",
        "mapping_justification": _JUSTIFICATIONS.get(method, "semapv:StructuralMatching"),
        "confidence": "" if confidence is None else f"{confidence:.{DECIMALS}f}",
        "other": "|".join(filter(None, (name, other_name))),
        "comment": "; ".join(filter(None, comment)),
    }


def _identified(name: str, side: Side, naming: Naming) -> tuple[str, str]:
    """CURIE of an entity, and its name as `entity_names` reads it, where the CURIE would be read as another."""
    curie, own = naming.curie(name, side), {"source": naming.source_prefix, "target": naming.target_prefix}[side]
    is_read = entity_of(curie, naming.prefixes, own) == name
    return curie, "" if is_read else f"{_SLOTS[side]}_name={quote(name, safe='')}"


def entity_of(curie: str, prefixes: Mapping[str, str], own: str) -> str:
    """The name behind a CURIE: what is under the prefix `own` is not an IRI."""
    prefix, _, local = curie.partition(":")
    return unquote(local) if prefix == own else prefixes[prefix] + decoded(local)


def key_values(text: str) -> dict[str, str]:
    """The slot ``other``: keys and values that SSSOM does not have.

    >>> key_values("subject_name=50%25|object_name=a%20b")
    {'subject_name': '50%', 'object_name': 'a b'}
    """
    return {key: unquote(value) for key, _, value in (part.partition("=") for part in text.split("|"))}


def own_prefixes(metadata: Iterable[str]) -> dict[str, str]:
    """By ``source_names`` and ``target_names``, the prefix of names that are not IRIs; empty in older files."""
    lines = (line.removeprefix(_OTHER) for line in metadata if line.startswith(_OTHER))
    return key_values(_scalar(next(lines, "").strip()))


def labelled(table: pl.DataFrame, source: Mapping[str, str], target: Mapping[str, str]) -> pl.DataFrame:
    """Links with the labels of both sides, by name, as `write_sssom` takes them."""
    labels = {"source": source, "target": target}
    return table.with_columns(
        pl.col(side).replace_strict(dict(of), default=None, return_dtype=pl.String).alias(f"{side}_label")
        for side, of in labels.items()
    )


def _metadata(mappings: Iterable[dict[str, str]], naming: Naming, body: str) -> str:
    used = {mapping[name].partition(":")[0] for mapping in mappings for name in ("subject_id", "object_id")}
    lines = ["curie_map:"]
    lines += [f"  {prefix}: {_yaml(naming.prefixes[prefix])}" for prefix in sorted(used - set(BUILT_IN))]
    if len(lines) == 1:
        lines = ["curie_map: {}"]
    lines += [
        f"mapping_set_id: https://w3id.org/sssom/mappings/{uuid.uuid5(uuid.NAMESPACE_URL, body)}",
        f"license: {UNSPECIFIED_LICENSE}",
        "mapping_tool: dualmatch",
        f"mapping_tool_version: {json.dumps(__version__)}",
        f'other: "source_names={naming.source_prefix}|target_names={naming.target_prefix}"',
    ]
    return "".join(f"#{line}\n" for line in lines)


def _yaml(text: str) -> str:
    """A scalar in plain style where that is safe, else in double quotes (JSON is YAML)."""
    return text if _PLAIN_YAML.match(text) and ": " not in text and not text.endswith(":") else json.dumps(text)


def curie_map(metadata: Iterable[str]) -> dict[str, str]:
    """The prefixes that the ``#`` lines above a table declare.

    >>> curie_map(["#curie_map:", "#  wd: http://www.wikidata.org/entity/", "#license: none"])
    {'wd': 'http://www.wikidata.org/entity/'}
    """
    prefixes: dict[str, str] = {}
    inside = False
    for line in metadata:
        text = line.removeprefix("#").rstrip()
        inside = text.startswith("curie_map:") or (inside and text.startswith(" "))
        name, colon, iri = text.strip().partition(": ")
        if inside and colon:
            prefixes[name.strip("\"'")] = _scalar(iri.strip())
    return prefixes


def _scalar(text: str) -> str:
    """A scalar of YAML on one line; escapes in double quotes are those of JSON."""
    try:
        return str(json.loads(text)) if text.startswith('"') else text.strip("'")
    except ValueError:
        return text.strip('"')

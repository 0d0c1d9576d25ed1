"""`dualmatch explain`: why a link, or why none."""

from __future__ import annotations

from pathlib import Path

import click

from dualmatch.cli import console
from dualmatch.cli.shared_options import (
    alignment_argument,
    force_option,
    input_folder_option,
    json_option,
    show_labels_option,
    talk_options,
)


@click.command("explain")
@alignment_argument
@click.argument("entity")
@click.option("--target", is_flag=True, help="ENTITY is one of the target graph, not of the source graph.")
@click.option(
    "--versus", metavar="OTHER", help="Compare with this entity of the other graph, in place of the other candidates."
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="How many facts to print in each list, the weightiest first.",
)
@input_folder_option
@show_labels_option
@json_option
@force_option
@talk_options
def explain_command(
    alignment: Path,
    entity: str,
    target: bool,
    versus: str | None,
    top: int,
    folder: Path | None,
    show_labels: tuple[Path, ...],
    json_path: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """Explain why ENTITY was given its partner in an ALIGNMENT, or none.

    ENTITY is a name, id or label; ALIGNMENT is a file of links or the folder of a run. The facts that both sides share,
    and everything else that counted, come with log-odds that add up to the confidence. It needs the file
    ALIGNMENT.why.npz, which dualmatch align writes beside the links, and the input files.

    \b
    Examples:
      dualmatch explain links.tsv "Ada Lovelace"
      dualmatch explain links.tsv Q7259 --target --top 3
      dualmatch explain links.tsv "Ada Lovelace" --versus Q46633 --json -
    """
    from dualmatch.explain.explain import explain_entity
    from dualmatch.runs.companion import read_explanation_basis
    from dualmatch.runs.folder import links_of

    json_output = console.JsonOutput.checked(json_path, force)
    basis = read_explanation_basis(links_of(alignment), folder, show_labels)
    why = explain_entity(basis, entity, target=target, versus=versus)
    json_output.write(why.as_dict(top))
    if not quiet and not json_output.to_stdout:
        console.say(why.in_words(top))

"""How Sphinx builds the site: `make docs`."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dualmatch.cli.main import VERBS, cli
from dualmatch.version import __version__

OF_THE_ROOT = ("results", "security", "changelog")

project = "dualmatch"
author = "the dualmatch authors"
copyright = "the dualmatch authors, Apache-2.0"
release = version = __version__
root_doc = "index"
exclude_patterns = ["_build", "sample", "images/*.py"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc"]
suppress_warnings = ["myst.header"]

myst_enable_extensions = ["attrs_inline", "dollarmath", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = f"dualmatch {version}"
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {"index": [], "tutorial": [], "demo": []}
html_show_sourcelink = False
html_copy_source = False


class CommandHelp(SphinxDirective):
    """The help of every command, as the terminal shows it: ``{command-help}``."""

    def run(self) -> list[nodes.Node]:
        shown = []
        for verb in (None, *(verb for verbs in VERBS.values() for verb in verbs)):
            name = "dualmatch" if verb is None else f"dualmatch {verb}"
            call = ["--help"] if verb is None else [verb, "--help-all" if verb == "align" else "--help"]
            result = CliRunner().invoke(cli, call, terminal_width=100)
            section = nodes.section(ids=[name.replace(" ", "-")], names=[name])
            section += nodes.title(text=name)
            section += nodes.literal_block(text=result.output.rstrip(), language="text")
            shown.append(section)
        return shown


def _both_schemes(app: Sphinx, page: str, source: list[str]) -> None:
    """A picture that has a twin for dark pages is shown with it; in the sources it is plain Markdown."""

    def shown(picture: re.Match[str]) -> str:
        words, path, kind = picture.groups()
        if not (Path(app.srcdir) / f"{path}-dark.{kind}").is_file():
            return picture[0]
        return f"![{words}]({path}.{kind}){{.only-light}} ![{words}]({path}-dark.{kind}){{.only-dark}}"

    source[0] = re.sub(r"^!\[(.*)\]\((images/[\w-]+)\.(png|svg)\)$", shown, source[0], flags=re.MULTILINE)


def _lead_to_pages(app: Sphinx, page: str, source: list[str]) -> None:
    """Pages that stand for a file of the repository's root get its text, and links to it lead to the page."""
    if page in OF_THE_ROOT:
        text = (Path(app.srcdir).parent / f"{page.upper()}.md").read_text("utf-8")
        source[0] = text.replace("](docs/", "](").replace("](results/", "](../results/")
    for name in OF_THE_ROOT:
        source[0] = re.sub(rf"\]\((\.\./)?{name.upper()}\.md", f"]({name}.md", source[0])
    source[0] = source[0].replace("[docs/sample](sample)", "docs/sample")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_directive("command-help", CommandHelp)
    app.connect("source-read", _lead_to_pages)
    app.connect("source-read", _both_schemes)

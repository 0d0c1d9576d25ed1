"""What the package imports is declared, so that a fresh installation has it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parent.parent
OURS = {"dualmatch", *sys.stdlib_module_names}


def imported(path: Path) -> set[str]:
    """The packages that a module imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names - OURS


def test_every_import_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    declared = {re.split(r"[<>=;]", line)[0].lower().replace("_", "-") for line in lines}
    used = set[str]().union(*(imported(path) for path in (ROOT / "src").rglob("*.py")))
    homes = packages_distributions()
    undeclared = {
        name for name in used if declared.isdisjoint(each.lower().replace("_", "-") for each in homes.get(name, [name]))
    }
    assert undeclared == set()

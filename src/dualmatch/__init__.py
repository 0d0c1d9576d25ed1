"""dualmatch: find which entities of two temporal knowledge graphs are the same real-world thing.

Public names are those of `dualmatch.public`. They are loaded at first use, so that ``dualmatch --help`` does not wait
for numpy and polars.
"""

import sys
from types import ModuleType

from dualmatch.version import __version__ as __version__

TYPE_CHECKING = False  # as type checkers take it; typing itself takes longer to load than all of this
if TYPE_CHECKING:
    from dualmatch.public import *  # noqa: F403


def __getattr__(name: str) -> object:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(name)
    from dualmatch.public import __all__ as names

    if name == "__all__":
        return names
    if name not in names:
        raise AttributeError(f"module 'dualmatch' has no attribute {name!r}")
    return getattr(sys.modules["dualmatch.public"], name)


def __dir__() -> list[str]:
    from dualmatch.public import __all__ as names

    return sorted({*names, *(name for name in globals() if name.startswith("__"))})


class _Package(ModuleType):
    """Keeps the public functions evaluate, explain and merge, where import would put the submodules of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in {"evaluate", "explain", "merge"}):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

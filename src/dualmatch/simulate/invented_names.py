"""Names that sound real and belong to nobody: people, towns and offices, and slips of the pen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Texts = NDArray[np.object_]


def _words(text: str, between: str = " ") -> tuple[str, ...]:
    return tuple(text.split(between))


GIVEN: Final = (
    _words(
        "Ada Agnes Alice Amelia Anna Beatrice Bertha Caroline Charlotte Clara Cora Dorothea Edith Eleanor Eliza "
        "Elsie Emily Emma Esther Ethel Fanny Florence Frances Grace Hannah Harriet Helen Ida Isabel Jane "
        "Josephine Julia Lavinia Louisa Lucy Lydia Mabel Margaret Martha Mary Matilda Maud Nora Patience Rachel "
        "Rosa Ruth Sarah Sophia Susanna Sylvia Violet Winifred"
    ),
    _words(
        "Albert Arthur Benedict Cecil Charles Conrad Daniel David Edmund Edward Elias Ernest Eugene Felix "
        "Frederick George Gilbert Harold Henry Herbert Horace Hugh Isaac Jacob James Jasper John Joseph Leonard "
        "Lewis Martin Miles Nathaniel Oliver Oscar Percy Philip Ralph Richard Robert Rupert Samuel Silas Simon "
        "Stephen Theodore Thomas Tobias Victor Walter William"
    ),
)
SURNAMES: Final = (
    _words(
        "Ald Ash Barn Beck Birk Bram Brock Burn Carl Clay Cold Crom Dal Dun East Ell Fair Fen Gar Glen Hal Har "
        "Hazel Holm Ken Kirk Lang Lin Mar Mill Nor Oak Pem Pres Quin Rad Red Rock Sel Shel Stan Stock Thorn Tur "
        "Wal Ward West Whit Win Yar"
    ),
    _words("bourne by combe croft dale den field ford ham hurst ley man mere more ridge son stead ton well wick worth"),
)
TOWNS: Final = (
    _words(
        "Aber Amble Brack Brid Cald Cran Dart Drum Eaves Frost Gains Grim Hamble Ilf Kelver Lam Long Mead Nether "
        "Orms Pad Ring Sax Stour Tam Upper Wem Wyke"
    ),
    _words("bridge bury chester cote gate haven holt minster mouth pool port stow"),
)
OFFICES: Final = _words(
    "mayor,alderman,town clerk,harbour master,postmaster,magistrate,judge,coroner,sheriff,bailiff,notary,"
    "member of parliament,minister of finance,minister of war,ambassador,consul,governor,colonial secretary,"
    "bishop,dean,archdeacon,vicar,organist,headmaster,professor of law,professor of botany,professor of Greek,"
    "astronomer,librarian,museum keeper,editor,publisher,surveyor,bridge engineer,railway director,shipowner,"
    "bank director,brewer,apothecary,surgeon,physician,colonel,captain,admiral,quartermaster,cartographer,"
    "composer,playwright,painter,sculptor,architect,gardener,trade unionist,missionary",
    ",",
)


def draw(words: Sequence[str], count: int, rng: Generator, fall: float = 0.4) -> Texts:
    """Words, the first of a random order more often than the last: the chance of a rank falls by this power."""
    chance = np.arange(1, len(words) + 1) ** -fall
    return np.array(words, dtype=object)[
        rng.permutation(len(words))[rng.choice(len(words), count, p=chance / chance.sum())]
    ]


def slip(name: str, rng: Generator) -> str:
    """A name with an initial for the first name, or with two letters swapped, one left out or one doubled."""
    kind = int(rng.integers(0, 4))
    within_words = [at for at in range(len(name) - 1) if name[at : at + 2].isalpha() and name[at] != name[at + 1]]
    at = int(rng.choice(within_words[1:]))
    if kind == 0:
        first, _, rest = name.partition(" ")
        return f"{first[0]}. {rest}"
    middle = (name[at + 1] + name[at], name[at + 1], name[at] * 2 + name[at + 1])[kind - 1]
    return name[:at] + middle + name[at + 2 :]

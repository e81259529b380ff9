"""Claims: a language carries if and only if it is in C-RASP."""

from lengthwise.claims import Claim
from lengthwise.papers.c_rasp import ARXIV
from lengthwise.papers.c_rasp.cells import separation
from lengthwise.papers.c_rasp.languages.plan import CELLS
from lengthwise.papers.c_rasp.languages.section import LANGUAGES

LANGUAGES_WITH_POSITIONS = Claim(
    name="c-rasp/languages-with-positions",
    sentence=(
        "With learned positions from a random start, languages in C-RASP carry to three times the "
        "training length, and the others do not."
    ),
    source=f"{ARXIV}, table of formal languages",
    experiment=LANGUAGES,
    evidence=lambda results: separation(results, CELLS, "offset"),
    place=70,
)

LANGUAGES_WITHOUT_POSITIONS = Claim(
    name="c-rasp/languages-without-positions",
    sentence=(
        "Without positions, languages in C-RASP carry to three times the training length, and the "
        "others do not."
    ),
    source=f"{ARXIV}, table of formal languages",
    experiment=LANGUAGES,
    evidence=lambda results: separation(results, CELLS, "none"),
    place=80,
)

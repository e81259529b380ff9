"""Claims: a norm lowers TVD and illegal mass on formal languages beyond the training length."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.papers.whats_missing import V2
from lengthwise.papers.whats_missing.languages.plan import LANGUAGES, VARIANTS
from lengthwise.papers.whats_missing.languages.readings import MEASURES, beyond, lowered
from lengthwise.papers.whats_missing.languages.section import FORMAL_LANGUAGES


def evidence(results: Results, variant: str) -> list[Finding]:
    """Both measures must be lower."""
    title = VARIANTS[variant].title
    found = []
    for measure, words in MEASURES.items():
        above, below = (
            {one: beyond(results, f"{one}-{kind}", measure) for one in LANGUAGES}
            for kind in ("baseline", variant)
        )
        effect = f"{words} beyond the training length, baseline / {title}"
        found += lowered(effect, above, below)
    return sorted(found, key=lambda one: not one.decides)


def _claim(variant: str, name: str, what: str, place: int) -> Claim:
    return Claim(
        name=f"whats-missing/{name}",
        sentence=f"{what} TVD and illegal mass beyond the training length.",
        source=f"{V2}, formal languages; the languages are ours",
        experiment=FORMAL_LANGUAGES,
        evidence=lambda results: evidence(results, variant),
        place=place,
    )


LANGUAGES_POST_NORM = _claim(
    "norm",
    "languages-post-norm",
    "On formal languages, LayerNorm after attention lowers",
    200,
)
LANGUAGES_POST_LN = _claim(
    "post", "languages-post-ln", "On formal languages, post-LN layers lower", 201
)

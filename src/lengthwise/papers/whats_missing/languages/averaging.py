"""Claim: EMA lowers TVD and illegal mass on formal languages beyond the training length."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.papers.whats_missing import V2
from lengthwise.papers.whats_missing.languages.plan import LANGUAGES
from lengthwise.papers.whats_missing.languages.readings import MEASURES, averaged, beyond, lowered
from lengthwise.papers.whats_missing.languages.section import FORMAL_LANGUAGES


def evidence(results: Results) -> list[Finding]:
    """Every model against the average of its own weights; the baseline decides."""
    found = []
    for variant in ("baseline", "norm"):
        for measure, words in MEASURES.items():
            runs = {one: f"{one}-{variant}" for one in LANGUAGES}
            raw = {one: beyond(results, run, measure) for one, run in runs.items()}
            mean = {one: averaged(results, run, measure) for one, run in runs.items()}
            effect = f"{words} beyond the training length, raw / EMA"
            effect += ", both with the norm" * (variant == "norm")
            found += lowered(effect, raw, mean, decides=variant == "baseline")
    return sorted(found, key=lambda one: not one.decides)


LANGUAGES_EMA = Claim(
    name="whats-missing/languages-ema",
    sentence=(
        "On formal languages, EMA of the weights lowers TVD and illegal mass beyond the training "
        "length."
    ),
    source=f"{V2}, formal languages; the languages are ours",
    experiment=FORMAL_LANGUAGES,
    evidence=evidence,
    place=202,
)

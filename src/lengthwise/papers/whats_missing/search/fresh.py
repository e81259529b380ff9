"""EMA and BEMA once more, on a search that was drawn after the rules for them were fixed."""

from dataclasses import replace

from lengthwise.claims import Claim
from lengthwise.papers.whats_missing.search.bema import SEARCH_BEMA
from lengthwise.papers.whats_missing.search.ema import SEARCH_EMA
from lengthwise.papers.whats_missing.search.section import FRESH_SEARCH


def _fresh(claim: Claim) -> Claim:
    return replace(
        claim,
        name=f"{claim.name}-fresh",
        source=f"{claim.source}; a fresh search for a rule that was fixed after a look",
        experiment=FRESH_SEARCH,
        place=claim.place + 50,
    )


SEARCH_EMA_FRESH, SEARCH_BEMA_FRESH = _fresh(SEARCH_EMA), _fresh(SEARCH_BEMA)

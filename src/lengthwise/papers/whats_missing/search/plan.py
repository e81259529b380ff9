"""The search that the claims rest on."""

from lengthwise.claims import PlannedSearch, Scale
from lengthwise.papers.whats_missing.search.space import set_complement_space

TRIALS: dict[Scale, int] = {"quick": 300, "laptop": 2000, "paper": 20_000}
"""The paper gives none. Ours."""


def plan(scale: Scale) -> PlannedSearch:
    """The default search of set complement."""
    return PlannedSearch(set_complement_space(), TRIALS[scale])


FRESH_SEED = 1
"""Of a search that nobody had seen when the rules for EMA and BEMA were fixed:
docs/results/set-complement/PLAN.md."""


def fresh_plan(scale: Scale) -> PlannedSearch:
    """The same search with other random numbers."""
    return PlannedSearch(set_complement_space(), TRIALS[scale], FRESH_SEED)

"""The search that the claims rest on."""

from lengthwise.claims import PlannedSearch, Scale
from lengthwise.papers.whats_missing.search.space import set_complement_space

TRIALS: dict[Scale, int] = {"quick": 300, "laptop": 2000, "paper": 20_000}
"""The paper gives none. Ours."""


def plan(scale: Scale) -> PlannedSearch:
    """The default search of set complement."""
    return PlannedSearch(set_complement_space(), TRIALS[scale])

"""The papers: one folder each, one file per figure, table, theorem or claim."""

from lengthwise.claims import Claim
from lengthwise.errors import require_name
from lengthwise.papers import vanishing_variance, whats_missing

CLAIMS: dict[str, Claim] = {
    claim.name: claim for claim in (*whats_missing.CLAIMS, *vanishing_variance.CLAIMS)
}


def find_claims(name: str) -> list[Claim]:
    """The claim called `name`, or all claims of the paper called `name`."""
    found = [claim for claim in CLAIMS.values() if name in (claim.name, claim.name.split("/")[0])]
    if not found:
        require_name(name, [*CLAIMS, *{claim.split("/")[0] for claim in CLAIMS}], "name")
    return found

"""The papers: a folder each, in it a folder per experiment, in that a file per claim.

Claims are found by walking: one more is one more file, and edits nothing else.
"""

import sys
from pathlib import Path

from lengthwise.claims import Claim, claims_of_file, claims_of_package
from lengthwise.errors import require_name

CLAIMS: dict[str, Claim] = claims_of_package(sys.modules[__name__])
"""All claims of all papers, by name."""


def find_claims(name: str) -> list[Claim]:
    """The claim called `name`, all claims of a paper, or those of a Python file of one's own.

    Args:
        name: A claim, a paper, or the path of a Python file.

    Raises:
        InputError: There is no claim or paper of that name.
    """
    if name.endswith(".py"):
        return list(claims_of_file(Path(name)).values())
    found = [claim for claim in CLAIMS.values() if name in (claim.name, claim.paper)]
    if not found:
        require_name(name, [*CLAIMS, *{claim.paper for claim in CLAIMS.values()}], "name")
    return found

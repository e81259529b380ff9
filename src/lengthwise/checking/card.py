"""A `model-index` block with break lengths, for the top of a model card."""

import json
import math
from typing import TYPE_CHECKING

from lengthwise._version import __version__
from lengthwise.checking.breaks import RULES

if TYPE_CHECKING:
    from lengthwise.checking.result import Check


def card(check: "Check") -> str:
    """YAML as the hub reads it. Where a model does not break, the longest length stands."""
    metrics = []
    for rule in RULES:
        found = check.breaks[rule]
        if math.isnan(found.length):
            continue
        whole = math.isfinite(found.length)
        name = f"Break length by {rule}" if whole else f"No break by {rule} up to"
        metrics += [
            f"    - type: break_length_{rule}",
            f"      name: {_quoted(name)}",
            f"      value: {int(found.length if whole else found.longest)}",
        ]
    return "\n".join(
        (
            "model-index:",
            f"- name: {_quoted(check.settings.model)}",
            "  results:",
            "  - task:",
            "      type: text-generation",
            "      name: Length generalization",
            "    dataset:",
            "      type: plain-text",
            f"      name: {_quoted(f'{check.lengths[0]} to {check.lengths[-1]} tokens')}",
            "    metrics:",
            *metrics,
            "    source:",
            f"      name: lengthwise check {__version__}",
            "",
        )
    )


def _quoted(text: str) -> str:
    """A YAML string: JSON's quotes are YAML's as well."""
    return json.dumps(text)

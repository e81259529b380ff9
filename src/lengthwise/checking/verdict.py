"""What a check says, in three sentences: where it breaks, what moves inside, what mends it."""

import math
from typing import TYPE_CHECKING

from lengthwise.checking.breaks import BreakLength
from lengthwise.report.numbers import number

if TYPE_CHECKING:
    from lengthwise.checking.result import Check

HARM = 0.02
"""More loss than this at the shortest length counts as harm there, in nats. Ours."""

WORTH = 0.01
"""Less gain than this is not worth a change of the configuration, in nats. Ours."""

SAYS = {
    "loss": "the loss on the same tokens rises for sure",
    "copying": "copying falls below 0.85 of its best",
    "needles": "needles found fall below 0.85 of their best",
}


def verdict(check: "Check") -> str:
    """Three sentences, a line each."""
    return "\n".join((where(check), why(check), remedy(check)))


def first_break(check: "Check") -> BreakLength | None:
    """The break that comes first, whatever rule sees it; None if no rule sees one."""
    found = [one for one in check.breaks.values() if math.isfinite(one.length)]
    return min(found, key=lambda one: one.length, default=None)


def where(check: "Check") -> str:
    """Where it breaks, beside what the configuration claims."""
    longest = check.lengths[-1]
    claimed = check.positions.claimed
    claim = "the configuration claims no length" if claimed is None else (
        f"the configuration claims {claimed}"
    )  # fmt: skip
    broken = first_break(check)
    if broken is None:
        return f"{check.settings.model} does not break up to {longest} tokens by any rule; {claim}."
    others = [
        f"{SAYS[rule]} at {one}"
        for rule, one in check.breaks.items()
        if one is not broken and math.isfinite(one.length)
    ]
    also = f"; {', and '.join(others)}" if others else "; no other rule sees a break"
    return (
        f"{check.settings.model} breaks at {broken}: {SAYS[broken.rule]} there{also} "
        f"(longest length {longest}); {claim}."
    )


def why(check: "Check") -> str:
    """Which heads move first. Correlation, and it says so."""
    moved = check.moved
    if moved is None:
        return "What attention does at these lengths was not watched."
    heads = len(moved.frame.select("layer", "head").unique())
    first = moved.first
    if first.is_empty():
        return (
            f"Inside, none of {heads} heads gives outputs that lie far from those at "
            f"{moved.reference} tokens."
        )
    named = ", ".join(
        f"layer {layer} head {head} (from {length})"
        for layer, head, length in first.select("layer", "head", "length").head(3).iter_rows()
    )
    share = len(first)
    return (
        f"Inside, the outputs of {share} of {heads} heads move away from what they were at "
        f"{moved.reference} tokens, first those of {named}; that goes together with the length, "
        "which does not say that it is the cause."
    )


def remedy(check: "Check") -> str:
    """What to set, or that nothing here helps."""
    if not check.changed:
        return "No what-if was tried."
    broken = first_break(check)
    best = best_remedy(check)
    if best is None:
        if broken is None:
            return "Nothing is broken at these lengths, and no what-if lowers the loss for sure."
        length = judged_at(check)
        return f"None of {_tried(check, length)} lowers the loss there for sure."
    name, length = best
    gain = check.loss_against_plain(name, length)
    short = check.lengths[0]
    cost = check.loss_against_plain(name, short).mean if short in check.changed[name] else math.nan
    one = check.what_ifs[name]
    trained = check.positions.claimed or check.lengths[-1]
    how = (
        f"{name} ({_as_python(one.setting(trained))} in the configuration)"
        if one.setting is not None
        else f"{name} (no configuration says that: it changes attention itself)"
    )
    harm = ""
    if cost > HARM:
        harm = f", but costs {number(cost)} at {short} tokens, so set it for long inputs only"
    opening = "What mends it best without training" if broken else (
        "Nothing is broken at these lengths; what lowers the loss most"
    )  # fmt: skip
    return (
        f"{opening}, of {_tried(check, length)}, is {how}: it changes the loss there by "
        f"{number(gain.mean)} nats ({number(gain.low)} to {number(gain.high)}){harm}."
    )


def judged_at(check: "Check") -> int:
    """The longest length at which a what-if was tried."""
    tried = [length for length in check.lengths if check.tried_at(length)]
    return tried[-1] if tried else check.lengths[-1]


def best_remedy(check: "Check") -> tuple[str, int] | None:
    """The what-if that lowers the loss most, for sure.

    Returns:
        Its name and the length where it was judged; None if there is none.
    """
    length, gains = judged_at(check), {}
    for name in check.tried_at(length):
        gain = check.loss_against_plain(name, length)
        if gain.high < 0 and gain.mean < -WORTH:
            gains[name] = gain.mean
    return (min(gains, key=lambda name: gains[name]), length) if gains else None


def _tried(check: "Check", length: int) -> str:
    count = len(check.tried_at(length))
    return f"{count} what-if{'' if count == 1 else 's'} tried at {length} tokens"


def _as_python(setting: dict[str, object]) -> str:
    return ", ".join(f"{key} with {value}" for key, value in setting.items())

"""Claim: EMA counteracts noise, over the search."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.claims.readings import DEFAULT_EMA, SMALLEST_FACTOR
from lengthwise.claims.statistics import TOP
from lengthwise.papers.whats_missing import V1
from lengthwise.papers.whats_missing.search import readings
from lengthwise.papers.whats_missing.search.averaging import CHOSEN, PARTS, all_powers, gain_within
from lengthwise.papers.whats_missing.search.section import SEARCH

LOSSES = {"drawn": ("sampled", "drawn token"), "exact": ("soft", "exact target, the control")}
"""By the kind of target: the loss that has it, and in words."""


def evidence(results: Results) -> list[Finding]:
    """Raw against EMA, at the top and within every trial; noise-free targets as a control."""
    table = readings.trials(results)
    tables = {target: readings.part(table, loss=loss) for target, (loss, _) in LOSSES.items()}
    found = []
    for target, (_, words) in LOSSES.items():
        chosen, rest = readings.chosen_weights(tables[target], "EMA ")
        raw, average = (
            readings.top_tvd(readings.part(rest, kind=kind)) for kind in ("raw", chosen)
        )
        found.append(
            Finding(
                f"TVD beyond the training length of the top {TOP:.0%} of models, raw / {chosen} "
                f"({CHOSEN}), loss on the {words}",
                raw.minus(average).exp(),
                SMALLEST_FACTOR,
                decides=target == "drawn",
            )
        )
    raw_over = f"raw / {DEFAULT_EMA}"
    found += [
        gain_within(
            f"within every trial of the search: {raw_over}, {target} target", own, DEFAULT_EMA
        )
        for target, own in tables.items()
    ]
    found += [
        gain_within(
            f"within every trial: {raw_over}, {where}, {target} target",
            readings.part(own, **values),
            DEFAULT_EMA,
        )
        for where, values in PARTS.items()
        for target, own in tables.items()
    ]
    return found


SEARCH_EMA = Claim(
    name="whats-missing/search-ema",
    sentence=(
        "EMA counteracts noise: where the loss is on the one token drawn, it lowers the TVD of the "
        "best models beyond the training length."
    ),
    source=f"{V1}, EMA stabilization",
    experiment=SEARCH,
    evidence=evidence,
    drawings=(all_powers,),
    place=120,
)

"""Claim: EMA counteracts noise, over the search."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.claims.readings import DEFAULT_EMA, SMALLEST_FACTOR
from lengthwise.claims.statistics import TOP
from lengthwise.papers.whats_missing import V1
from lengthwise.papers.whats_missing.search import readings
from lengthwise.papers.whats_missing.search.averaging import ALL_POWERS, CHOSEN, PARTS, gain_within
from lengthwise.papers.whats_missing.search.section import SEARCH

LOSSES = {"sampled": "the drawn token", "soft": "the exact target, the control"}


def evidence(results: Results) -> list[Finding]:
    """Raw against EMA, at the top and within every trial; noise-free targets as a control."""
    tables = {loss: readings.part(readings.trials(results), loss=loss) for loss in LOSSES}
    found = []
    for loss, words in LOSSES.items():
        chosen, rest = readings.chosen_weights(tables[loss], "EMA ")
        raw, average = (
            readings.top_tvd(readings.part(rest, kind=kind)) for kind in ("raw", chosen)
        )
        found.append(
            Finding(
                f"TVD beyond the training length of the top {TOP:.0%} of models, raw / {chosen} "
                f"({CHOSEN}), loss on {words}",
                raw.minus(average).exp(),
                SMALLEST_FACTOR,
                decides=loss == "sampled",
            )
        )
    raw_over = f"raw / {DEFAULT_EMA}"
    found += [
        gain_within(
            f"within every trial of the search: {raw_over}, {loss} target", table, DEFAULT_EMA
        )
        for loss, table in tables.items()
    ]
    found += [
        gain_within(
            f"within every trial: {raw_over}, {where}, {loss} target",
            readings.part(table, **values),
            DEFAULT_EMA,
        )
        for where, values in PARTS.items()
        for loss, table in tables.items()
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
    drawings=(ALL_POWERS,),
    place=120,
)

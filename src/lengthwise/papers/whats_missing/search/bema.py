"""Claim: BEMA improves length generalization, over the search."""

from lengthwise.claims import Claim, Finding, Results
from lengthwise.claims.readings import DEFAULT_BEMA, SMALLEST_FACTOR
from lengthwise.claims.statistics import TOP
from lengthwise.papers.whats_missing import V1
from lengthwise.papers.whats_missing.search import readings
from lengthwise.papers.whats_missing.search.averaging import (
    CHOSEN,
    PARTS,
    all_powers,
    by_schedule,
    gain_within,
)
from lengthwise.papers.whats_missing.search.section import SEARCH


def evidence(results: Results) -> list[Finding]:
    """Raw and EMA against BEMA, at the top and within every trial.

    The claim is that of the paper's first version, whose models have no norm: they decide it.
    """
    table = readings.trials(results)
    found: list[Finding] = []
    for norm, models in (("none", "models without norm"), ("layernorm", "models with the norm")):
        own = readings.part(table, norm=norm)
        chosen, rest = readings.chosen_weights(own, "BEMA ")
        plain, _ = readings.chosen_weights(own, "EMA ")
        tops = {
            kind: readings.top_tvd(readings.part(rest, kind=kind))
            for kind in ("raw", plain, chosen, DEFAULT_BEMA)
        }
        for above, below, how in (
            ("raw", chosen, CHOSEN),
            (plain, chosen, CHOSEN),
            ("raw", DEFAULT_BEMA, "the defaults of BEMA"),
        ):
            found.append(
                Finding(
                    f"TVD beyond the training length of the top {TOP:.0%} of {models}, "
                    f"{above} / {below} ({how})",
                    tops[above].minus(tops[below]).exp(),
                    SMALLEST_FACTOR,
                    decides=not found,
                )
            )
    raw_over = f"raw / {DEFAULT_BEMA}"
    return [
        *found,
        gain_within(
            f"within every trial of the search: {raw_over} (the defaults of BEMA)",
            table,
            DEFAULT_BEMA,
        ),
        *(
            gain_within(
                f"within every trial: {raw_over} (defaults), {where}",
                readings.part(table, **values),
                DEFAULT_BEMA,
            )
            for where, values in PARTS.items()
        ),
    ]


SEARCH_BEMA = Claim(
    name="whats-missing/search-bema",
    sentence="BEMA improves the length generalization of the best models.",
    source=f"{V1}, EMA stabilization",
    experiment=SEARCH,
    evidence=evidence,
    drawings=(all_powers, by_schedule),
    place=130,
)

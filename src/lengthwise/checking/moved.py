"""Which heads' outputs move away from what they were at trained lengths, and how far."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars

from lengthwise.probing.summary import HEADS, Summary

FAR = 0.5
"""From here on a head counts as moved: its mean by half a standard deviation of the reference, or
its standard deviation by a factor of e^0.5. Ours."""


@dataclass(frozen=True)
class Moved:
    """Distances of the distribution of attention outputs from that at a reference length."""

    reference: int
    """The longest length within the claim if longer ones were watched; else the shortest one."""
    frame: polars.DataFrame
    """Columns: `length`, `layer`, `head`, `mean_shift` (root mean square over components, in
    standard deviations of the reference), `log_std_ratio` (natural logarithm), and `distance`, the
    root of the sum of their squares."""

    @classmethod
    def of(cls, summaries: Mapping[int, Summary], claimed: int | None) -> "Moved":
        """Compare every length with the reference."""
        lengths = list(summaries)
        within = [length for length in lengths if claimed is None or length <= claimed]
        reference = within[-1] if within and within[-1] < lengths[-1] else lengths[0]
        before = summaries[reference]
        pieces = []
        for length, now in summaries.items():
            for (layer, place), mean in now.means.items():
                if place != HEADS:
                    continue
                unit = before.estimates[layer, HEADS, "std"][0].double().clamp(min=1e-12)
                std = now.estimates[layer, HEADS, "std"][0].double().clamp(min=1e-12)
                apart = (mean.double() - before.means[layer, HEADS].double()).square().mean(-1)
                shift, ratio = (apart.sqrt() / unit).numpy(), (std / unit).log().numpy()
                pieces.append(
                    polars.DataFrame(
                        {
                            "length": length, "layer": layer, "head": np.arange(len(shift)),
                            "mean_shift": shift, "log_std_ratio": ratio,
                            "distance": np.hypot(shift, ratio),
                        }
                    )
                )  # fmt: skip
        return cls(reference, polars.concat(pieces).sort("length", "layer", "head"))

    @cached_property
    def first(self) -> polars.DataFrame:
        """Heads that moved beyond the reference, the first and farthest on top.

        Columns: `layer`, `head`, `length` (where it first lies farther than `FAR`), `distance` (at
        the longest length).
        """
        beyond = self.frame.filter(polars.col("length") > self.reference)
        where = (
            beyond.filter(polars.col("distance") > FAR)
            .group_by("layer", "head")
            .agg(polars.col("length").min())
        )
        longest = beyond.filter(polars.col("length") == polars.col("length").max())
        found = where.join(longest.select("layer", "head", "distance"), on=("layer", "head"))
        return found.sort(
            "length", "distance", "layer", "head", descending=(False, True, False, False)
        )

"""What a check gives: curves by length, break lengths, what moved inside, and what mends it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars

from lengthwise.checking.behaviour import Behaviour
from lengthwise.checking.breaks import RULES, BreakLength, Rule, break_length
from lengthwise.checking.kept import PLAIN, Settings
from lengthwise.checking.moved import Moved
from lengthwise.checking.positions import Positions
from lengthwise.checking.table import behaviour_rows
from lengthwise.checking.what_ifs import WhatIf
from lengthwise.claims.statistics import Estimate, estimate
from lengthwise.files import write_text, write_with
from lengthwise.probing.summary import Summary
from lengthwise.probing.table import ProbeTable


@dataclass(frozen=True)
class Check:
    """What a model does at every length, plain and with what-ifs."""

    settings: Settings
    """What was asked for."""
    positions: Positions
    """What positions the model has, and which length it claims."""
    behaviours: Mapping[int, Behaviour]
    """Of the plain model, by length, ascending."""
    mechanism: Mapping[int, Summary]
    """What attention did, by length; empty if it was not watched."""
    what_ifs: Mapping[str, WhatIf]
    """What was tried, by name."""
    changed: Mapping[str, Mapping[int, Behaviour]]
    """By what-if and length; the plain model's where a what-if leaves a length as it is."""
    dropped: tuple[str, ...] = ()
    """What was left out for time or memory, a line each."""
    notes: tuple[str, ...] = ()
    """What was left out, and why."""

    @property
    def lengths(self) -> list[int]:
        """Those that were measured, ascending."""
        return list(self.behaviours)

    def of(self, what_if: str = PLAIN) -> Mapping[int, Behaviour]:
        """Behaviour by length, plain or with a what-if.

        Args:
            what_if: The name of a what-if; "plain" is the model as it is.
        """
        return self.behaviours if what_if == PLAIN else self.changed[what_if]

    def break_length(self, rule: Rule, what_if: str = PLAIN) -> BreakLength:
        """Where a rule sees the model break.

        Args:
            rule: "loss", "copying" or "needles".
            what_if: The name of a what-if; "plain" is the model as it is.
        """
        return break_length(rule, self._values(rule, what_if))

    @cached_property
    def breaks(self) -> dict[Rule, BreakLength]:
        """By rule, where the plain model breaks."""
        return {rule: self.break_length(rule) for rule in RULES}

    def loss_change(self, length: int, since: int, what_if: str = PLAIN) -> Estimate:
        """Loss at a length minus loss at another one, paired over documents.

        Args:
            length: The longer length.
            since: The length that it is compared with.
            what_if: The name of a what-if; "plain" is the model as it is.
        """
        found = self.of(what_if)
        change = found[length].document_loss - found[since].document_loss
        return estimate(change.tolist(), unit="documents")

    def loss_against_plain(self, what_if: str, length: int) -> Estimate:
        """Loss with a what-if minus loss of the plain model, paired over documents.

        The interval is widened for the number of what-ifs that were tried at this length.

        Args:
            what_if: The name of a what-if.
            length: At which length.
        """
        change = self.changed[what_if][length].document_loss - self.behaviours[length].document_loss
        looks = max(1, len(self.tried_at(length)))
        return estimate(change.tolist(), unit="documents", looks=looks)

    def tried_at(self, length: int) -> list[str]:
        """The what-ifs that were tried at a length, where they are not the plain model.

        Args:
            length: One of the lengths of the check.
        """
        plain = self.behaviours[length]
        return [name for name, one in self.changed.items() if one.get(length, plain) is not plain]

    @cached_property
    def moved(self) -> Moved | None:
        """How far attention outputs moved; None if attention was not watched at two lengths."""
        if len(self.mechanism) < 2:
            return None
        return Moved.of(self.mechanism, self.positions.claimed)

    @cached_property
    def probe(self) -> ProbeTable | None:
        """The probe's table of the same lengths and text; None if attention was not watched."""
        if not self.mechanism:
            return None
        label = f"{self.settings.model}, text, natural query"
        return ProbeTable(label, self.mechanism, self.settings.documents, 0.0)

    @cached_property
    def frame(self) -> polars.DataFrame:
        """One row per what-if, length, measure and place; see `docs/check.md` for the columns."""
        pieces = [
            behaviour_rows(name, length, one)
            for name in (PLAIN, *self.changed)
            for length, one in self.of(name).items()
        ]
        return polars.concat(pieces)

    def verdict(self) -> str:
        """Where it breaks, what moves inside, and what mends it: three sentences."""
        from lengthwise.checking.verdict import verdict

        return verdict(self)

    def card(self) -> str:
        """A `model-index` block for a model card."""
        from lengthwise.checking.card import card

        return card(self)

    def save(
        self, folder: Path, command: str = "", imported: polars.DataFrame | None = None
    ) -> None:
        """Write the page, its figures, and all numbers as Parquet and CSV into a folder.

        Args:
            folder: Where to.
            command: What makes the page again.
            imported: Results of lm-evaluation-harness, to stand on the same page.
        """
        from lengthwise.checking.page import page
        from lengthwise.checking.pictures import pictures

        folder.mkdir(parents=True, exist_ok=True)
        write_with(folder / "behaviour.parquet", self.frame.write_parquet)
        write_with(folder / "behaviour.csv", self.frame.write_csv)
        if self.probe is not None:
            write_with(folder / "mechanism.parquet", self.probe.frame.write_parquet)
            write_with(folder / "mechanism.csv", self.probe.frame.write_csv)
        if self.moved is not None:
            write_with(folder / "moved.csv", self.moved.frame.write_csv)
        write_text(folder / "verdict.txt", self.verdict() + "\n")
        write_text(folder / "breaks.json", json.dumps(self._summary(), indent=1) + "\n")
        drawn = pictures(self)
        for picture in drawn:
            write_text(folder / f"{picture.name}.svg", picture.svg)
        write_text(folder / "index.html", page(self, drawn, command, imported))

    def _values(self, rule: Rule, what_if: str) -> dict[int, np.ndarray]:
        values = {}
        for length, one in self.of(what_if).items():
            if rule == "loss":
                values[length] = one.document_loss.numpy()
            elif rule == "copying":
                values[length] = one.copy_gain.numpy()
            elif len(one.needle_rank):
                values[length] = one.found.numpy()
        return values

    def _summary(self) -> dict[str, object]:
        """Break lengths as JSON: null where a model does not break or that cannot be said."""

        def plain(value: float) -> float | None:
            return value if np.isfinite(value) else None

        breaks = {
            rule: {
                "length": plain(one.length), "low": plain(one.low), "high": plain(one.high),
                "judged": not np.isnan(one.length), "longest": one.longest,
            }
            for rule, one in self.breaks.items()
        }  # fmt: skip
        return {
            "settings": asdict(self.settings),
            "positions": self.positions.kind,
            "claimed": self.positions.claimed,
            "lengths": self.lengths,
            "breaks": breaks,
            "dropped": list(self.dropped),
        }

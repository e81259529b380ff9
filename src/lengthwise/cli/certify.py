"""`lengthwise certify`."""

from dataclasses import dataclass
from pathlib import Path

import tyro


@dataclass
class Certify:
    """Find the worst input of a trained minimal transformer at every length, without sampling.

    Prints, for each length, the exact margin between legal and seen tokens over all inputs, what
    the 2C/s law of Theorem 4.2 would give, and bounds on illegal mass beside what is measured; and
    draws them. With a norm after attention there is no exact method: up to 16 tokens all inputs are
    gone through, beyond that they are sampled and searched, and the table says so.

    Example: lengthwise certify runs/set-complement --model 0
    """

    path: tyro.conf.Positional[Path]
    """A run folder, or a checkpoint of a single model."""

    model: int = 0
    """Which model of the run."""

    ema_power: float | None = None
    """Take the EMA of this power, if the run kept it, instead of the last weights."""

    bias_power: float | None = None
    """Take the BEMA of this power."""

    lengths: tuple[int, ...] = ()
    """Which lengths; all by default."""

    inputs: int = 1 << 17
    """With a norm: how many inputs to go through at most, or to draw, per length."""

    figure: Path | None = None
    """A figure to write (.png, .svg or .pdf); beside the model by default."""

    overwrite: bool = False
    """Replace the figure if it is there."""

    def run(self) -> int:
        """Certify, print, draw."""
        import torch
        from rich.console import Console

        from lengthwise.errors import require
        from lengthwise.report.numbers import number
        from lengthwise.report.style import save
        from lengthwise.runs import RunFolder, load_model
        from lengthwise.tasks import SetComplement
        from lengthwise.theory import certify, fit_structure, measure_illegal_mass, read_tables
        from lengthwise.theory.picture import certificate_figure, certificate_table

        torch.set_num_threads(1)
        if self.path.is_dir():
            task = RunFolder.open(self.path).recipe.task
            require(isinstance(task, SetComplement), "task", task.name,
                    f"{SetComplement.name}, the only one with a certificate")  # fmt: skip
        figure = self.figure or self._figure_beside()
        keep = figure.exists() and not self.overwrite
        require(not keep or self.figure is None, "figure", str(figure),
                "a file that does not exist yet, or --overwrite")  # fmt: skip
        model = load_model(
            self.path, self.model, ema_power=self.ema_power, bias_power=self.bias_power
        )
        certificate = certify(model, self.lengths or None, inputs=self.inputs)
        measured = measure_illegal_mass(model, certificate)
        tables = read_tables(model)
        vocab = tables.vocab
        ranks = ", ".join(f"rank({name}) = {rank}" for name, rank in tables.ranks.items())
        print(f"{self._name()}: {vocab} tokens; {ranks} (at least {vocab - 1} needed for B + D)")
        print(
            f"attention: {number(tables.attention_distance)} from constant (mean TVD), scores of "
            f"one token differ by up to {number(tables.score_spread)}"
        )
        if vocab >= 4:
            fit = fit_structure(tables)
            print(
                f"structure lemma: {number(fit.distance)} of B and D unexplained; balance: "
                f"{fit.structure.balance()}"
            )
        if not all(certificate.exact.values()):
            print(
                "a norm stands after attention: where there are more than --inputs inputs they "
                "are sampled and searched, and a worse one may exist"
            )
        Console().print(certificate_table(certificate, measured))
        if keep:
            print(f"figure: {figure} (was there; --overwrite draws it anew)")
        else:
            save(certificate_figure(certificate, measured, self._name()), figure)
            print(f"figure: {figure}")
        return 0

    def _weights(self) -> str:
        powers = (("ema", self.ema_power), ("bias", self.bias_power))
        return "".join(f"-{name}-{power:g}" for name, power in powers if power is not None)

    def _name(self) -> str:
        if not self.path.is_dir():
            return self.path.name
        return f"{self.path.name}, model {self.model}{self._weights().replace('-', ' ')}"

    def _figure_beside(self) -> Path:
        if self.path.is_dir():
            return self.path / f"certificate-{self.model}{self._weights()}.png"
        return self.path.with_name(f"{self.path.stem}-certificate.png")

"""Draw the pictures of `theory.md`.

    python docs/make_theory_pictures.py demo/set-complement-remedies/quick

takes the runs that `make demo` leaves behind; without a folder, only what needs no run is drawn.
"""

import sys
from pathlib import Path

import torch

from lengthwise.claims import Results
from lengthwise.papers.vanishing_variance.populations.section import figure_populations
from lengthwise.papers.whats_missing.remedies.plan import plan
from lengthwise.papers.whats_missing.remedies.what_training_finds import figure_training
from lengthwise.papers.whats_missing.theorem_4_2.section import figure_constructions
from lengthwise.report.style import save
from lengthwise.runs import RunFolder, load_model
from lengthwise.theory import certify, measure_illegal_mass
from lengthwise.theory.picture import certificate_figure


def draw_constructions(images: Path) -> None:
    """What follows from weights that are written down."""
    save(figure_constructions(), images / "theory-constructions.png")
    save(figure_populations(), images / "theory-variance.png")


def draw_trained(images: Path, runs: Path) -> None:
    """What training finds, and the certificate of one trained model."""
    planned = plan("quick")
    tables = {label: RunFolder.open(runs / label).table() for label in planned}
    results = Results("quick", planned, tables, runs)
    save(figure_training(results), images / "theory-training.png")
    model = load_model(runs / "baseline")
    certificate = certify(model)
    figure = certificate_figure(
        certificate, measure_illegal_mass(model, certificate), "baseline, model 0"
    )
    save(figure, images / "theory-certificate.png")


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder = Path(__file__).parent / "images"
    draw_constructions(folder)
    if len(sys.argv) > 1:
        draw_trained(folder, Path(sys.argv[1]))

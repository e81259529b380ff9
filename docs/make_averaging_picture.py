"""Draw `images/averaging.png`: raw weights, EMA and BEMA on a noisy quadratic.

A thousand weights, each pulled to zero by its gradient and kicked by noise, start at one. All of
them are one tensor, and all curves come from one `BEMA` in one run.
"""

import sys
from pathlib import Path

import torch

from lengthwise.averaging import BEMA
from lengthwise.report.style import COLOURS, house_style, new_figure, save

PICTURE = Path(__file__).parent / "images" / "averaging.png"
CURVATURE, NOISE, STEPS, WEIGHTS = 0.01, 0.02, 2000, 1000
EMA_POWER, FAST, SLOW = 0.7, 0.4, 0.2


def descend() -> dict[str, torch.Tensor]:
    """Every curve's weights, of shape (steps + 1, weights)."""
    generator = torch.Generator().manual_seed(0)
    weights = torch.ones(WEIGHTS)
    average = BEMA({"weights": weights}, EMA_POWER, [FAST, SLOW])
    curves = {name: [weights.clone()] for name in ("raw", "ema", "fast", "slow")}
    for _ in range(STEPS):
        weights -= CURVATURE * weights + NOISE * torch.randn(WEIGHTS, generator=generator)
        average.update()
        curves["raw"].append(weights.clone())
        for name, bias_index in (("ema", None), ("fast", 0), ("slow", 1)):
            curves[name].append(average.weights_at(0, bias_index)["weights"])
    return {name: torch.stack(steps) for name, steps in curves.items()}


def draw(path: Path) -> None:
    """Write the picture."""
    curves = descend()
    looks = {
        "raw": {"color": COLOURS["grey"], "label": "raw weights", "alpha": 0.75, "linewidth": 1.2},
        "ema": {"color": COLOURS["blue"], "label": f"EMA, power {EMA_POWER}"},
        "fast": {"color": COLOURS["orange"], "label": f"BEMA, bias power {FAST}"},
        "slow": {
            "color": COLOURS["orange"],
            "label": f"BEMA, bias power {SLOW}",
            "linestyle": (0, (2, 1.5)),
            "linewidth": 1.4,
        },
    }
    with house_style():
        figure = new_figure(9.5, 3.8)
        left, right = figure.subplots(1, 2)
        for name in ("raw", "ema", "fast"):
            left.plot(curves[name][:401, 0], **looks[name])
        left.axhline(0, color="black", linewidth=0.8)
        left.set(title="One weight: the EMA lags behind", xlabel="step", ylabel="weight")
        left.text(8, 0.015, "optimum", va="bottom", fontsize=9)
        left.set_xlim(0, 400)
        for name, look in looks.items():
            loss = curves[name].square().mean(1)
            right.loglog(range(10, STEPS + 1), loss[10:], **look)
        right.set(
            title="The mean loss of 1000 weights", xlabel="step", ylabel="loss, 1 at the start"
        )
        right.legend(loc="lower left")
        save(figure, path)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)

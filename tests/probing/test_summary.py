"""Summaries: estimates are those of the samples, and their intervals cover."""

import numpy as np
import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.probing.observer import Observation, Output
from lengthwise.probing.summary import HEADS, PROJECTED, Summary, summarise
from lengthwise.probing.table import ProbeTable


def observed(outputs, projected=None):
    """Observations of outputs `(sequences, queries, heads, components)`, as the observer makes."""

    def output(values):
        return Output(values.mean(1), values.var(1, correction=0))

    weights = torch.rand(5, outputs.shape[0], outputs.shape[2]) + 0.1
    return Observation(weights, output(outputs), None if projected is None else output(projected))


def test_estimates_are_those_of_the_samples():
    torch.manual_seed(0)
    outputs = torch.randn(12, 1, 3, 4) * 0.01 + 5  # a spread far smaller than the mean
    one = observed(outputs)
    parts = [
        Observation(one.weights[:, rows], Output(one.heads.mean[rows], one.heads.variance[rows]))
        for rows in (slice(0, 5), slice(5, 12))
    ]
    summary = summarise([{7: part} for part in parts], component=2, resamples=10, seed=0)
    values = outputs[:, 0].double().numpy()
    expected = {
        "std": np.sqrt(values.var(0, ddof=1).mean(-1)),
        "std_component": values[..., 2].std(0, ddof=1),
        "global_mean": values.mean((0, 2)),
        "global_variance": values.var(0, ddof=1).mean(-1) + values.mean(0).var(-1),
        "entropy": one.weights[0].double().mean(0).numpy(),
    }
    for measure, value in expected.items():
        found = summary.estimates[7, HEADS, measure]
        assert found.shape == (11, 3)
        np.testing.assert_allclose(found[0].numpy(), value, rtol=1e-4)
    assert (7, PROJECTED, "std") not in summary.estimates


def test_several_queries_are_pooled():
    torch.manual_seed(0)
    outputs = torch.randn(2000, 6, 1, 3) * torch.tensor([1.0, 2.0, 3.0])
    found = summarise([{0: observed(outputs)}], 0, 2, 0).estimates[0, HEADS, "std"][0]
    assert found.item() == pytest.approx(np.sqrt((1 + 4 + 9) / 3), rel=0.02)


def probe_of_independent_means(lengths, sequences, seed):
    """Outputs that are means of N independent numbers: a slope of exactly -1/2."""
    generator = torch.Generator().manual_seed(seed)
    summaries = {}
    for length in lengths:
        outputs = torch.randn(sequences, 1, 1, 4, generator=generator) / length**0.5
        summaries[length] = summarise([{0: observed(outputs, outputs)}], 0, 200, seed)
    return ProbeTable("independent means", summaries, sequences, 0.0)


def test_the_interval_of_the_slope_covers_the_truth_about_as_often_as_it_says():
    covered, slopes = 0, []
    for seed in range(100):
        fits = probe_of_independent_means([16, 32, 64, 128], 60, seed).slopes()
        row = fits.filter(measure="std", place=HEADS).row(0, named=True)
        covered += row["low"] <= -0.5 <= row["high"]
        slopes.append(row["slope"])
    assert 85 <= covered <= 100
    assert np.mean(slopes) == pytest.approx(-0.5, abs=0.02)


def test_files_bring_back_what_was_saved(tmp_path):
    summary = probe_of_independent_means([8], 20, 0).summaries[8]
    summary.save(tmp_path / "8.safetensors")
    again = Summary.load(tmp_path / "8.safetensors")
    assert again.estimates.keys() == summary.estimates.keys()
    for key, value in summary.estimates.items():
        assert torch.equal(again.estimates[key], value)
    (tmp_path / "8.safetensors").write_bytes(b"half of it")
    with pytest.raises(InputError, match="is damaged"):
        Summary.load(tmp_path / "8.safetensors")

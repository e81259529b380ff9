"""`lengthwise average` as a user calls it."""

import pytest
import torch
from safetensors.torch import load_file, save_file

from lengthwise.cli import main


@pytest.fixture
def checkpoints(tmp_path):
    paths = []
    for step in (100, 200, 300):
        paths.append(tmp_path / f"ckpt-{step}.safetensors")
        save_file({"weight": torch.full((2, 2), float(step))}, paths[-1])
    return list(map(str, paths))


def test_averages_checkpoints(tmp_path, checkpoints, capsys):
    out = tmp_path / "averaged.safetensors"
    options = ["--ema-power", "0.5", "--bias-power", "0.2", "--out", str(out)]
    assert main(["average", *checkpoints, *options]) == 0
    assert "1 tensors averaged over 3 checkpoints, steps 100 to 300" in capsys.readouterr().out
    ema = 100.0
    for step in (200, 300):
        ema += (10 + step) ** -0.5 * (step - ema)
    expected = ema + 310**-0.2 * (300 - 100)
    torch.testing.assert_close(load_file(out)["weight"], torch.full((2, 2), expected))


def test_the_correction_can_be_left_out(tmp_path, checkpoints):
    out = tmp_path / "averaged.safetensors"
    options = ["--ema-power", "0", "--bias-power", "None", "--out", str(out)]
    assert main(["average", *checkpoints, *options]) == 0
    torch.testing.assert_close(load_file(out)["weight"], torch.full((2, 2), 300.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ema-power", "2"], "ema_power = 2.0: expected a number from 0 to 1"),
        (["--bias-power", "-1"], "bias_power = -1.0: expected a number >= 0"),
        (["--schedule", "papr"], "did you mean 'paper'"),
        (["--ema-power", "half"], "half"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, checkpoints, options, message, capsys):
    out = tmp_path / "averaged.safetensors"
    assert main(["average", *checkpoints, "--out", str(out), *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_an_existing_output_is_kept(tmp_path, checkpoints, capsys):
    assert main(["average", *checkpoints, "--out", checkpoints[0]]) == 2
    assert "a file that does not exist yet" in capsys.readouterr().err

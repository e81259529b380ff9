"""Killed at any moment and started again: as if nothing had happened."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lengthwise.comparing import StudyFolder
from lengthwise.comparing.records import LISTS


def command(out: Path) -> list[str]:
    return [
        sys.executable, "-m", "lengthwise", "compare", "--scale", "quick", "--remedies", "alibi",
        "--tasks", "flip-flop", "majority", "--out", str(out),
    ]  # fmt: skip


@pytest.mark.slow
def test_killed_ten_times(tmp_path: Path) -> None:
    chance = random.Random(1)
    kills = 0
    while kills < 10:
        process = subprocess.Popen(
            command(tmp_path / "killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        time.sleep(chance.uniform(2.0, 25.0))
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
    assert kills >= 2, "the test must have interrupted something"
    for name in ("killed", "whole"):
        subprocess.run(command(tmp_path / name), check=True, capture_output=True)
    killed, whole = (
        StudyFolder.open(tmp_path / name).records().select("cell", "fleet", *LISTS).sort("cell")
        for name in ("killed", "whole")
    )
    assert len(killed) == 24
    assert killed.equals(whole), "bit for bit"

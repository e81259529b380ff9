"""A few cases of the soak; all of it is `make soak`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the soak forks processes on Linux")
def test_a_few_cases_of_everything(tmp_path: Path) -> None:
    settings = {
        "LENGTHWISE_SOAK_RECORD": str(tmp_path),
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
    }
    ran = subprocess.run(
        [sys.executable, "-m", "soak.quick"], capture_output=True, text=True, cwd=ROOT,
        env=os.environ | settings,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "cases" in ran.stdout

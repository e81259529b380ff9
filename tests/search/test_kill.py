"""Killed at any moment, worker or coordinator, and started again: as if nothing had happened."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from search.small import Inline, space_file

from lengthwise.search import SearchFolder, load_space, search

TRIALS = 24
STEPS = 100


def many_fleets(folder: Path, steps: int = STEPS) -> Path:
    """The small space with so many shapes that a search has some twenty fleets."""
    path = space_file(folder, steps)
    path.write_text(
        path.read_text().replace(
            '"batch": 4,', '"batch": 4, "model.extra_width": Choice(0, 1, 2, 3),'
        )
    )
    return path


def command(folder: Path, out: Path, steps: int = STEPS) -> list[str]:
    return [
        sys.executable, "-m", "lengthwise", "search", "set-complement",
        "--space", str(many_fleets(folder, steps)), "--trials", str(TRIALS), "--workers", "2",
        "--out", str(out),
    ]  # fmt: skip


def children(parent: int) -> list[int]:
    """The worker processes of `parent`, without helpers of multiprocessing."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            words = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if int(status[1]) == parent and b"spawn_main" in words:
            found.append(int(entry.name))
    return found


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def lines(out: Path) -> int:
    log = out / "log.txt"
    return len(log.read_text().splitlines()) if log.exists() else 0


def kill_often(tmp_path: Path, kills: int) -> None:
    out = tmp_path / "killed"
    chance = random.Random(1)
    done = 0
    while done < kills:
        before = lines(out)
        process = subprocess.Popen(command(tmp_path, out), stderr=subprocess.PIPE, text=True)
        # Wait until it works, or has done a fleet, and then a little, so that kills meet starting,
        # training, measuring and writing, however fast the machine is.
        events = before + chance.choice([1, 2])
        while process.poll() is None and lines(out) < events:
            time.sleep(0.02)
        time.sleep(chance.uniform(0.0, 1.0))
        workers = children(process.pid)
        if process.poll() is not None:
            break
        if workers and chance.random() < 0.5:
            os.kill(chance.choice(workers), signal.SIGKILL)
            time.sleep(chance.uniform(0.0, 1.0))
            done += 1
            workers = children(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
        done += 1
        deadline = time.monotonic() + 120  # a worker that is being born ends after its imports
        while any(alive(worker) for worker in workers) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(alive(worker) for worker in workers), "no worker outlives the search"
        assert all(number in range(TRIALS) for number in SearchFolder.open(out).done())
    assert done >= min(kills, 2), "the test must have interrupted something"
    last = subprocess.run(command(tmp_path, out), capture_output=True, text=True)
    assert last.returncode == 0, last.stderr
    folder = SearchFolder.open(out)
    assert folder.done() == set(range(TRIALS))
    assert len(folder.table()) == 3 * TRIALS, "exactly the asked number, none twice"
    space = load_space(many_fleets(tmp_path))
    whole = search(space, TRIALS, tmp_path / "whole", executor=Inline())
    assert folder.table().equals(whole.table())
    assert folder.by_length().equals(whole.by_length())


def test_killed_a_few_times(tmp_path: Path) -> None:
    kill_often(tmp_path, 3)


@pytest.mark.slow
def test_killed_twenty_times(tmp_path: Path) -> None:
    kill_often(tmp_path, 20)


def test_control_c_says_how_to_resume(tmp_path: Path) -> None:
    out = tmp_path / "stopped"
    process = subprocess.Popen(
        # So many steps that it cannot be done before it is stopped.
        command(tmp_path, out, steps=10**6),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while process.poll() is None and lines(out) == 0:
        time.sleep(0.05)
    time.sleep(1.0)
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped; the trials done are kept; resume with: " in output
    assert "Traceback" not in errors
    assert not SearchFolder.open(out).in_use()

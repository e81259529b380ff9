"""Jobs that say, fail, are stopped or lose their worker; and runs that are stopped."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from lengthwise.hyperparameters import Hyperparameters
from lengthwise.pool import Event, run_jobs
from lengthwise.runs import RunFolder, recipe_for
from lengthwise.tasks import SetComplement

Say = Callable[[object], None]
Stop = Callable[[], bool]


def do(job: tuple[str, str], say: Say, stop: Stop) -> object:
    """One of several things that a job may do; the second word is its own."""
    kind, argument = job
    if kind == "fail":
        raise RuntimeError(f"{argument}\nand more")
    if kind == "die":
        os._exit(9)
    if kind == "die once" and not Path(argument).exists():
        Path(argument).write_text("died")
        os.kill(os.getpid(), signal.SIGKILL)
    say(f"{kind} {argument}")
    while kind == "wait" and not stop():
        time.sleep(0.01)
    return argument


def test_jobs_speak_and_give_and_survive_their_worker(tmp_path: Path) -> None:
    jobs = [("give", "1"), ("die once", str(tmp_path / "died")), ("fail", "no"), ("give", "2")]
    events = [event for event in run_jobs(do, jobs, 1) if event is not None]
    assert events == [
        Event(jobs[0], "message", "give 1"),
        Event(jobs[0], "done", "1"),
        Event(jobs[1], "message", f"die once {tmp_path / 'died'}"),
        Event(jobs[1], "done", str(tmp_path / "died")),
        Event(jobs[2], "failed", "RuntimeError: no"),
        Event(jobs[3], "message", "give 2"),
        Event(jobs[3], "done", "2"),
    ]


def test_a_job_that_always_kills_its_worker_fails_and_the_others_are_done() -> None:
    jobs = [("die", ""), ("give", "1")]
    events = [event for event in run_jobs(do, jobs, 1) if event is not None]
    assert events[0].kind == "failed"
    assert "3 worker processes in a row ended with exit code 9" in events[0].value
    assert events[-1] == Event(jobs[1], "done", "1")


def test_to_stop_ends_what_works_and_drops_what_waits() -> None:
    said: list[Event] = []
    jobs = [("wait", "1"), ("give", "2")]
    for event in run_jobs(do, jobs, 1, stop=lambda: bool(said)):
        if event is not None:
            said.append(event)
    assert [event.kind for event in said] == ["message", "done"]
    assert {event.job for event in said} == {jobs[0]}


TWO_RUNS = """
import sys
from pathlib import Path
from lengthwise.runs import Interrupted, execute_all

if __name__ == "__main__":
    try:
        execute_all([Path(word) for word in sys.argv[1:]], lambda progress: None, workers=2)
    except Interrupted:
        raise SystemExit(130)
"""


def test_control_c_saves_every_run(tmp_path: Path) -> None:
    """Whether the terminal sends it to all processes, or someone to the first one alone."""
    recipe = recipe_for(SetComplement(6), max_train_length=3, steps=10**6, test_inputs=50)
    for number, send in enumerate((os.killpg, os.kill)):
        paths = [tmp_path / f"{number}-{name}" for name in ("first", "second")]
        for path in paths:
            RunFolder.create(path, recipe, [Hyperparameters()], ["test"])
        program = tmp_path / "two_runs.py"
        program.write_text(TWO_RUNS)
        process = subprocess.Popen(
            [sys.executable, str(program), *map(str, paths)],
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        while process.poll() is None and not all((path / "log.txt").exists() for path in paths):
            time.sleep(0.05)
        time.sleep(1.0)
        send(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130, errors
        assert "Traceback" not in errors
        for path in paths:
            assert RunFolder.open(path).newest_step() > 0
            assert "stopped at step" in (path / "log.txt").read_text()

"""Further seeds: in further fleets, read as one, and nothing trained twice."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from lengthwise.claims import (
    Claim,
    Experiment,
    Finding,
    PlannedRun,
    Reproduction,
    Results,
    Scale,
    Section,
    estimate,
    levels,
    reproduce,
)
from lengthwise.claims.fleets import fleets, joined, planned_seeds
from lengthwise.errors import InputError
from lengthwise.models import MinimalModel
from lengthwise.runs import RunFolder, execute, recipe_for
from lengthwise.tasks import SetComplement
from lengthwise.training import Hyperparameters

RECIPE = recipe_for(
    SetComplement(6), MinimalModel(extra_width=2), max_train_length=3, steps=12, batch=4,
    test_inputs=20,
)  # fmt: skip
STEPS: dict[Scale, int] = {"quick": 12, "laptop": 15}


def planned(seeds: int, first: int = 0, number: int = 1, variants: int = 1) -> PlannedRun:
    models = tuple(
        Hyperparameters(seed=seed, learning_rate=1e-3 * (1 + variant), ema_powers=())
        for seed in range(first, first + seeds)
        for variant in range(variants)
    )
    return PlannedRun(RECIPE, models, number)


def a_claim(
    looks: tuple[int, ...] = (), number: int = 1, name: str = "seeds", folder: str | None = None
) -> Claim:
    def plan(scale: Scale) -> dict[str, PlannedRun]:
        run = planned(2, number=number)
        return {"plain": replace(run, recipe=replace(RECIPE, steps=STEPS[scale]))}

    def evidence(results: Results) -> list[Finding]:
        tvd = results.tables["plain"].filter(measure="tvd", weights="raw")
        means = tvd.group_by("model", maintain_order=True).agg(polars.col("value").mean())
        values = means["value"].to_list()
        assert len(values) == len(results.plan["plain"].hyperparameters)
        return [Finding("TVD", estimate(values, level=results.level), 0.6)]

    experiment = Experiment(
        name, plan, lambda results: Section("", "", (), ()), folder, looks=lambda scale: looks
    )
    return Claim(f"mine/{name}", "Sentence.", "source", experiment, evidence)


def run(out: Path, claim: Claim, **settings: int) -> Reproduction:
    return reproduce([claim], "quick", out, ["test"], **settings)  # type: ignore[arg-type]


@given(
    st.integers(1, 4), st.integers(0, 50), st.integers(1, 3), st.integers(1, 20),
    st.integers(1, 20), st.integers(1, 3),
)  # fmt: skip
def test_more_seeds_keep_the_fleets_that_are_there(
    size: int, first: int, number: int, few: int, more: int, variants: int
) -> None:
    one = planned(size, first, number, variants)
    less, all_of_them = (fleets("run", one, count) for count in (few, few + more))
    assert list(all_of_them.items())[: len(less)] == list(less.items())
    models = [model for part in all_of_them.values() for model in part.hyperparameters]
    assert len(set(models)) == len(models), "no model twice"
    assert next(iter(less.items())) == ("run", replace(one, fleets=1))
    assert planned_seeds(one, few + more) == list(range(first, first + few + more))
    assert planned_seeds(one) == list(range(first, first + size * number))


def test_folders_are_called_by_their_seeds() -> None:
    assert list(fleets("a", planned(8), 20)) == ["a", "a@8-15", "a@16-23"]
    assert list(fleets("a", planned(8, 1000), 16)) == ["a", "a@1008-1015"]
    assert list(fleets("a", planned(1, 1, number=3, variants=4))) == ["a", "a@2", "a@3"]
    assert list(fleets("a", planned(8), 9, first=80)) == ["a@80-87", "a@88-95"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"count": 0}, "seeds = 0: expected at least 1"),
        ({"first": 12}, "first_seed = 12: expected 0 or a multiple of 8 further"),
    ],
)
def test_seeds_that_cannot_be_are_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fleets("run", planned(8), **settings)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("seeds")


@pytest.fixture(scope="module")
def extended(out: Path) -> tuple[Reproduction, Reproduction, dict[Path, int]]:
    """Two seeds, then five; and when the files of the first were written."""
    first = run(out, a_claim())
    times = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    return first, run(out, a_claim(), seeds=5), times


def test_what_is_there_is_kept_and_further_seeds_are_read_with_it(
    out: Path, extended: tuple[Reproduction, Reproduction, dict[Path, int]]
) -> None:
    first, second, times = extended
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert [folder.path.name for folder in second.folders] == ["plain", "plain@2-3", "plain@4-5"]
    counts = [done.verdicts[0].headline.estimate.count for done in (first, second)]
    assert counts == [2, 5], "the sixth was trained with its fleet, and is not read"


def test_models_of_further_fleets_are_those_of_one_large_fleet(
    tmp_path: Path, out: Path, extended: tuple[Reproduction, Reproduction, dict[Path, int]]
) -> None:
    large = planned(5)
    alone = RunFolder.create(tmp_path / "run", large.recipe, large.hyperparameters, [])
    execute(alone)
    folders = extended[1].folders
    parts = list(fleets("plain", planned(2), 5).values())
    found = joined(parts, [folder.table() for folder in folders], range(5))
    assert found[0].hyperparameters == large.hyperparameters
    order = ["model", "length", "measure"]
    assert_frame_equal(found[1].sort(order), alone.table().sort(order))


def test_fresh_seeds_lie_beside_the_others(out: Path) -> None:
    done = run(out, a_claim(), seeds=2, first_seed=10)
    assert [folder.path.name for folder in done.folders] == ["plain@10-11"]
    assert {one.seed for one in done.folders[0].hyperparameters} == {10, 11}


def test_scales_are_not_mixed(out: Path) -> None:
    run(out, a_claim())
    place = out / "seeds"
    (place / "laptop").symlink_to(place / "quick")
    message = r"holds a run with other settings .*\(steps = 12 there, 15 planned\)"
    with pytest.raises(InputError, match=message):
        reproduce([a_claim()], "laptop", out)
    (place / "laptop").unlink()


def test_seeds_need_runs(tmp_path: Path) -> None:
    nothing = Experiment("none", lambda scale: {}, lambda results: Section("", "", (), ()))
    claim = Claim("mine/none", "Sentence.", "source", nothing, lambda results: ())
    with pytest.raises(InputError, match="seeds = 4: expected none, as experiment 'none' trains"):
        run(tmp_path, claim, seeds=4)


def test_a_plan_that_stops_early_is_read_at_its_looks_only(tmp_path: Path) -> None:
    claim = a_claim(looks=(2, 4), name="looks")
    with pytest.raises(InputError, match="seeds = 3: expected one of 2, 4, the looks"):
        run(tmp_path, claim, seeds=3)
    plain = run(tmp_path, a_claim(name="plain", folder="looks"), seeds=4)
    for seeds in (2, 4):
        looked = run(tmp_path, claim, seeds=seeds).verdicts[0].headline.estimate
        assert looked.count == seeds
    once = plain.verdicts[0].headline.estimate
    assert looked.mean == once.mean
    assert levels((2, 4))[-1] < 0.05
    assert looked.high > once.high


HOLD = """
import sys, time
from lengthwise.runs import RunFolder
with RunFolder.open(sys.argv[1]).locked():
    print("held", flush=True)
    time.sleep(4)
"""


def test_a_run_that_another_process_has_is_waited_for(tmp_path: Path) -> None:
    first = planned(2)
    place = tmp_path / "seeds" / "quick" / "plain"
    RunFolder.create(place, first.recipe, first.hyperparameters, [])
    command = [sys.executable, "-c", HOLD, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        done = run(tmp_path, a_claim(), seeds=4)
        assert other.wait() == 0
    assert done.verdicts[0].headline.estimate.count == 4

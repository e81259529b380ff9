"""`lengthwise compare`: every remedy x task x length under the same rules, on one page."""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from lengthwise.errors import InputError, require
from lengthwise.tracking import TrackerName, require_tracker

if TYPE_CHECKING:
    from lengthwise.comparing import Study, StudyFolder

Names = Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="NAME|FILE [...]")]


@dataclass
class Compare:
    """Compare remedies against length failure: train, test beyond the training length, one page.

    Every remedy and the baseline are trained on every task with the same data, steps, learning
    rates and seeds, and tested at up to 8 times the training length. Without arguments this is the
    built-in study. Run the same command again and it resumes; name more remedies, tasks or seeds,
    and only what is missing is trained. docs/compare.md has the rules.

    A remedy is a name or the path of your own file, with options behind a colon; several that act
    together have + between them. So have settings: layout=post, resid_dropout=0.1, test=yarn. The
    words ema, bema and dropout are short for some. 'lengthwise remedies' and 'lengthwise tasks'
    list what there is.

    Example: lengthwise compare --scale quick

    Example: lengthwise compare --remedies alibi fire+layernorm my_remedy.py --tasks sort parity

    Example: lengthwise compare --add records-of-a-friend --verify 3
    """

    remedies: Names = None
    """What to compare with the baseline; that of the built-in study if not given."""

    tasks: Names = None
    """On which tasks; those of the built-in study if not given."""

    model: str = "gpt"
    """The model, by name or file."""

    baseline: str = "rotary"
    """The positions of the baseline, which others replace or add to."""

    seeds: int | None = None
    """How many seeds; more than last time extends the study."""

    scale: Literal["quick", "laptop", "cluster"] = "laptop"
    """How large models and trainings are: minutes, hours, or days on many cores."""

    out: Path | None = None
    """The study's folder; runs/compare/SCALE if not given."""

    workers: int | None = None
    """Processes, one thread each; one per core if not given."""

    ray: str | None = None
    """Train on a Ray cluster: host:port, auto (the one this machine belongs to), or local."""

    track: TrackerName | None = None
    """Hand measures to a tracker as well: trackio, wandb, tensorboard or mlflow. Its files
    go into track/ in the folder; nothing is sent anywhere (docs/tracking.md)."""

    add: Path | None = None
    """Take over the records of another folder of the same study, after checking them; nothing is
    trained."""

    verify: int | None = None
    """Train so many random cells again and compare with their records; nothing else is trained."""

    page_only: bool = False
    """Write the page of what is there; nothing is trained."""

    def run(self) -> int:
        """Train what is missing, then write the page and its tables."""
        import torch

        from lengthwise.cli.terminal import command_line
        from lengthwise.comparing import StudyFolder

        torch.set_num_threads(1)
        if self.track is not None:
            require_tracker(self.track)
        out = self.out or Path("runs/compare") / self.scale
        reading = self.page_only or self.verify is not None or self.add is not None
        if reading and (out / "study.json").is_file():
            folder = StudyFolder.open(out)
        else:
            require(not self.page_only, "page_only", str(out), "a study that was begun")
            study = self._study()
            self._check(study)
            folder = StudyFolder.create_or_open(out, study, command_line())
        if self.add is not None:
            from lengthwise.comparing.others import add

            print(f"{add(folder, self.add)} records added: {out}")
        if self.verify is not None and self._verify(folder) > 0:
            return 1
        if not reading and not self._train(folder):
            return 130
        return _write_page(folder)

    def _study(self) -> "Study":
        from lengthwise.comparing import built_in_study

        return built_in_study(
            self.scale, remedies=self.remedies, tasks=self.tasks, model=self.model,
            baseline=self.baseline, seeds=self.seeds,
        )  # fmt: skip

    def _check(self, study: "Study") -> None:
        """Remedies of the user's own are tried before anything is trained."""
        own = {
            name: entry.model.remedies
            for entry in study.entries
            for name in entry.model.remedies
            if "@" in name
        }
        if not own:
            return
        try:
            from lengthwise.testing.check import check_remedy
        except ModuleNotFoundError:
            print("your own remedies are not checked beforehand: that needs pytest")
            return
        for name, chain in own.items():
            broken = [one for one in check_remedy(*chain) if one.holds is False]
            if broken:
                raise InputError(
                    f"remedies = {name.partition('@')[0]!r}: expected one that passes 'lengthwise "
                    f"remedies FILE --check': {broken[0].property}: {broken[0].told}"
                )

    def _train(self, folder: "StudyFolder") -> bool:
        """Train what is missing; False if it was stopped."""
        from lengthwise.cli.terminal import command_line, progress_display, quoted
        from lengthwise.comparing.run import predicted_seconds, run
        from lengthwise.executors import LocalExecutor, RayExecutor
        from lengthwise.tracking import start

        given = {name: folder.description[name] for name in ("command", "version")}
        track = (
            nullcontext()
            if self.track is None
            else start(self.track, folder.path, folder.path.name, given)
        )
        executor = (
            LocalExecutor(self.workers) if self.ray is None else RayExecutor(self.ray, self.workers)
        )
        study = folder.study
        planned = study.planned()
        done = set(folder.records()["cell"]) & planned
        jobs = list(study.jobs(done))
        print(
            f"{len(study.entries)} remedies x {len(study.plans)} tasks x {len(study.rates)} "
            f"learning rates x {study.seeds} seeds: {len(planned)} models, "
            f"{len(done)} of them are there"
        )
        if jobs:
            workers = executor.workers or 1
            told = _duration(predicted_seconds(jobs, workers))
            models = sum(len(job.hyperparameters) for job in jobs)
            cores = "one core" if workers == 1 else f"{workers} cores"
            print(f"{models} to train: about {told} on {cores}, by the first steps of the baseline")
        try:
            with track as tracking, progress_display() as report:
                run(folder, executor=executor, report=report, track=tracking)
        except KeyboardInterrupt:
            print(f"stopped; the models done are kept; resume with: {quoted(command_line())}")
            return False
        return True

    def _verify(self, folder: "StudyFolder") -> int:
        """How many of the cells that were trained again are not what was recorded."""
        from lengthwise.comparing.others import TOLERANCE, verify

        wrong = 0
        assert self.verify is not None
        for one in verify(folder, self.verify):
            wrong += not one.holds
            asked = "bit for bit" if one.exact else f"within {TOLERANCE:g} at the training length"
            found = f"largest difference {one.largest:.2g}, in range {one.in_range:.2g}"
            print(f"{'same  ' if one.holds else 'DIFFERS'} {one.told}: {found} ({asked})")
        return wrong


def _write_page(folder: "StudyFolder") -> int:
    from lengthwise.comparing.write import write_page

    values = write_page(folder)
    for one in values["tasks"]:
        if one["learned"] is False:
            print(f"{one['name']}: nothing has learned it, so nothing is ranked there")
    order = sorted(values["remedies"], key=lambda one: -((one["reach"] or {}).get("mean") or 0))
    for one in order[:5]:
        if one["reach"]:
            print(f"reach {one['reach']['mean']:.2f}  {one['name']}")
    print(f"page: {folder.path / 'page.html'}")
    return 0


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

"""A handful of cases of every test but the cluster, in one process; `make test` runs it."""

import sys
import tempfile
from pathlib import Path

from soak import full_disk, hostile, kills, together, untrusted
from soak._harness import import_everything
from soak.seeds import seeds
from soak.workloads import WORKLOADS

INPUTS = range(10_000, 10_025)
"""Hostile cases that the soak itself does not have."""


def main() -> int:
    """Run them; 1 if anything is wrong."""
    import_everything()
    kept = seeds()
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        found = hostile.run_batch(INPUTS, Path(name), kept)
        told = {f"input {case}": one["wrong"] for case, one in found.items()}
        told["inputs"] = [] if len(found) == len(INPUTS) else [f"{len(found)} ended"]
    quick = [work for work in WORKLOADS if work.name in ("train", "othello generate", "average")]
    known = {work.name: full_disk.reference(work, kept) for work in quick}
    for case in [one for one in full_disk.cases(known | _none(known)) if one[0] in quick][7::17]:
        if case[1] != "tmpfs" or full_disk.can_mount():
            found_one = full_disk.run_case(0, case, kept, known)
            told[f"no room: {case[0].name}, {case[1]} {case[2]}"] = found_one["wrong"]
    for number in range(4):  # of training
        told[f"together {number}"] = together.run_case(number, kept, known)["wrong"]
    kills.start_fork_server()
    timed = {work.name: kills.reference(work, kept) for work in quick}
    for number in (0, 3, 5, 6):
        told[f"kills {number}"] = kills.run_case(number, kept, timed)["wrong"]
    for target, file, bomb in untrusted.pickles(kept)[::40]:
        with tempfile.TemporaryDirectory() as name:
            place = untrusted.Place(Path(name))
            told[f"pickle {file}"] = untrusted.run_pickle(target, file, bomb, place, kept)
    for name, wrong in told.items():
        if wrong:
            print(f"{name}: {wrong}")
    print(f"{len(told)} cases")
    return 1 if any(told.values()) else 0


def _none(known: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """No cases for the other kinds of work."""
    nothing = {"operations": 0, "pages": 0, "largest": 0}
    return {work.name: nothing for work in WORKLOADS if work.name not in known}


if __name__ == "__main__":
    sys.exit(main())

"""Files of strangers: nothing is unpickled, no code runs but what a user names, pages escape text.

Three kinds of cases. Every file that a command reads is replaced by a pickle that would make a file
when it is loaded, as such and inside torch's format. Folders and checkpoints that bring code along
are given to every command that reads them, before and after `lengthwise trust`. And a remedy, a
task, a claim and a model whose names are HTML go through every page that is written, which is then
opened in a real browser, if there is one.
"""

import io
import json
import os
import pickle
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from soak._harness import Child, Ran, Record, arguments, command, import_everything
from soak.damage import files
from soak.hostile import MEMORY, NEEDED, SECONDS, TARGETS, Target, train_in_this_process
from soak.seeds import CHECK, CLAIM, REMEDY, seeds
from soak.small import tiny_scale

NAME = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
"""What a stranger calls a thing."""
FOLDER = "<img src=x onerror='window.hacked=1'>"
"""The same without a slash, for a folder."""
EVIL = "from pathlib import Path\nPath({marker!r}).touch()\n"


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        """Say which."""
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        """What a pickle would call."""
        return os.mkdir, (str(self.marker),)


def bombs(marker: Path) -> list[bytes]:
    """A pickle, and one inside the format of torch.save."""
    plain = pickle.dumps(Bomb(marker))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("archive/data.pkl", plain)
        archive.writestr("archive/version", "3")
    return [plain, content.getvalue()]


def _watch_pickles(marker: Path) -> None:
    """Let any global that a pickle looks up leave a mark."""

    def hook(event: str, values: tuple[Any, ...]) -> None:
        if event == "pickle.find_class" and not _own(sys._getframe(1)):
            with (marker.parent / "unpickled").open("a") as file:
                file.write(f"{values}\n")

    sys.addaudithook(hook)


def _own(frame: FrameType | None) -> bool:
    """Whether what is read is no file of a stranger's.

    That is numba's cache of what it has compiled on this machine, and what a worker process sends.
    """
    while frame is not None:
        if any(part in frame.f_code.co_filename for part in ("numba", "multiprocessing")):
            return True
        frame = frame.f_back
    return False


class Place:
    """An empty folder with a state of its own: nothing is trusted yet."""

    def __init__(self, path: Path) -> None:
        """Make it."""
        self.outside, self.path = path, path / "work"
        self.path.mkdir()
        self.marker = path / "marker"

    def run(self, words: Sequence[str]) -> Ran:
        """Run a command there."""

        def prepare() -> None:
            os.environ["XDG_STATE_HOME"] = str(self.outside / "state")
            os.environ.pop("LENGTHWISE_TRUSTED", None)
            _watch_pickles(self.marker)
            tiny_scale()
            train_in_this_process()

        child = Child(command(words, prepare), self.outside, cwd=self.path, memory=MEMORY)
        return child.wait(SECONDS)

    def wrong(self, ran: Ran, codes: Sequence[int] = (0, 2)) -> list[str]:
        """What is wrong with what a command did."""
        found = []
        if ran.code not in codes:
            found.append(f"exit code {ran.code}: {ran.err[-300:]}")
        if "Traceback" in ran.err:
            found.append("a traceback")
        if self.marker.exists():
            found.append("code was run")
        unpickled = self.outside / "unpickled"
        if unpickled.exists():
            found.append(f"unpickled: {unpickled.read_text()[:200]}")
        return found


def pickles(kept: Path) -> list[tuple[Target, str, int]]:
    """All cases of the first kind: a target, a file that it reads, and which bomb."""
    found = []
    for target in TARGETS:
        for name in target.inputs:
            whole = kept / name
            for file in files(whole) if whole.is_dir() else [whole]:
                if file.name not in ("lock", "log.txt") and file.suffix != ".py":
                    found += [(target, str(file.relative_to(kept)), kind) for kind in (0, 1)]
    return found


def run_pickle(target: Target, name: str, kind: int, place: Place, kept: Path) -> list[str]:
    """Put a bomb in the place of a file."""
    for one in (*target.inputs, *NEEDED.get(target.name, [])):
        source = kept / one
        (shutil.copytree if source.is_dir() else shutil.copy)(source, place.path / one)
    (place.path / name).write_bytes(bombs(place.marker)[kind])
    if name == "hf/model.safetensors":  # the format that a folder may have in place of it
        (place.path / "hf/pytorch_model.bin").write_bytes(bombs(place.marker)[kind])
        (place.path / "hf/model.safetensors").unlink()
    return place.wrong(place.run(target.words))


def run_strangers(place: Place, kept: Path) -> list[tuple[str, list[str]]]:
    """Code inside folders and checkpoints: refused before it is trusted, run after."""
    from lengthwise.comparing import StudyFolder
    from lengthwise.comparing.run import run
    from lengthwise.runs import load_model, save_model
    from soak.small import Inline, small_study

    evil = f"{REMEDY}\n{EVIL.format(marker=str(place.marker))}"

    def make() -> int:
        os.environ["XDG_STATE_HOME"] = str(place.outside / "another")
        os.chdir(place.path)
        Path("evil.py").write_text(evil, encoding="utf-8")
        from lengthwise.cli import main as lengthwise
        from soak.seeds import TRAIN

        code = lengthwise(["train", *TRAIN, "--remedies", "evil.py", "--out", "run"])
        save_model(load_model("run"), "checkpoint.safetensors")
        for name in ("study", "friend"):
            study = StudyFolder.create_or_open(name, small_study(("evil.py",)), ["lengthwise"])
            run(study, executor=Inline())
        Path("evil.py").unlink()
        return code

    made = Child(make, place.outside).wait(SECONDS)
    if made.code != 0:
        return [("making them", [made.err[-500:]])]
    place.marker.unlink()
    shutil.copytree(kept / "study", place.path / "mine")
    commands = {
        "show": ["show", "run"],
        "resume": ["resume", "run"],
        "certify": ["certify", "run"],
        "certify a checkpoint": ["certify", "checkpoint.safetensors"],
        "train from": ["train", "set-complement", "--vocab", "6", "--max-train-length", "3",
                       "--steps", "2", "--batch", "4", "--start-from", "run", "--out", "new"],
        "compare, page": ["compare", "--page-only", "--out", "study"],
        "compare, verify": ["compare", "--verify", "1", "--out", "study"],
        "compare, add": ["compare", "--add", "friend", "--out", "mine"],
    }  # fmt: skip
    found = []
    for name, words in commands.items():
        ran = place.run(words)
        wrong = place.wrong(ran, [2])
        if "not run by you before" not in ran.err:
            wrong.append(f"not refused for its code: {ran.err[-300:]}")
        found.append((f"{name}, not trusted", wrong))
    ran = place.run(["trust", "run", "--yes"])
    found.append(("trust", place.wrong(ran, [0])))
    ran = place.run(["show", "run"])
    trusted = [] if ran.code == 0 and place.marker.exists() else [f"not run: {ran.err[-300:]}"]
    found.append(("show, trusted", trusted))
    return found


def run_model_code(place: Place, kept: Path) -> list[tuple[str, list[str]]]:
    """A folder of a model that names Python code of its own."""
    found = []
    shutil.copytree(kept / "hf", place.path / "hf")
    shutil.copy(kept / "text.txt", place.path)
    code = place.path / "hf" / "modeling_evil.py"
    code.write_text(EVIL.format(marker=str(place.marker)), encoding="utf-8")
    config = place.path / "hf" / "config.json"
    values = json.loads(config.read_text())
    own = {"AutoConfig": "modeling_evil.Evil", "AutoModelForCausalLM": "modeling_evil.Evil"}
    for change in ({"auto_map": own}, {"auto_map": own, "model_type": "evil"}):
        config.write_text(json.dumps(values | change), encoding="utf-8")
        for name, words in {
            "probe": ["probe", "hf", "--lengths", "4,8", "--sequences", "2", "--out", "p"],
            "check": ["check", "hf", *CHECK, "--out", "c"],
        }.items():
            ran = place.run(words)
            found.append((f"{name}, {', '.join(change)}", place.wrong(ran)))
            shutil.rmtree(place.path / "p", ignore_errors=True)
            shutil.rmtree(place.path / "c", ignore_errors=True)
    return found


def run_pages(place: Place, kept: Path) -> list[tuple[str, list[str]]]:
    """Names that are HTML, on every page that is written."""
    work = place.path
    remedy = REMEDY.replace("Sharper scores", NAME).replace("Scores times two", NAME)
    (work / "remedy.py").write_text(remedy.replace('"sharper"', repr(NAME)), encoding="utf-8")
    claim = CLAIM.replace('"It helps."', repr(NAME)).replace('"ours"', repr(NAME))
    claim = claim.replace('"TVD, plain / norm"', repr(NAME)).replace('"Words."', repr(NAME))
    claim = claim.replace('"Mine"', repr(NAME)).replace('"mine/norm"', repr(f"mine/{FOLDER}"))
    claim = claim.replace('"norm"', repr(FOLDER), 1).replace('("plain", "norm")',
                                                            f'("plain", {FOLDER!r})')  # fmt: skip
    claim = claim.replace('(("plain", ()), ("norm"', f'(("plain", ()), ({FOLDER!r}')
    (work / "claim.py").write_text(claim, encoding="utf-8")
    (work / "space.py").write_text((kept / "space.py").read_text(), encoding="utf-8")
    shutil.copytree(kept / "hf", work / FOLDER)
    shutil.copy(kept / "text.txt", work)
    runs = {
        "compare": ["compare", "--scale", "quick", "--remedies", "alibi", "remedy.py", "--out",
                    "study"],
        "reproduce": ["reproduce", "claim.py", "--out", "results"],
        "report": ["report", "results/own/quick", "--claims", "claim.py", "--markdown", "page.md"],
        "check": ["check", FOLDER, *CHECK, "--out", "check"],
        "search": ["search", "run", "space.py", "--trials", "2", "--out", f"search {FOLDER}"],
        "search status": ["search", "status", f"search {FOLDER}"],
    }  # fmt: skip
    found = []
    for name, words in runs.items():
        ran = place.run(words)
        wrong = place.wrong(ran)
        pages = [*work.rglob("*.html"), *work.rglob("*.md")]
        for page in pages:
            text = page.read_text(encoding="utf-8")
            wrong += [f"{page.name}: {one}" for one in raw(text)]
        said = f"refused: {ran.err.strip().splitlines()[-1][:150]}" if ran.code == 2 else "written"
        found.append((f"{name}: {said}", wrong))
    pages = sorted({*work.rglob("*.html"), *work.rglob("*.svg")})
    if not pages:
        found.append(("pages", ["none was written"]))
    found += in_a_browser(pages, place.outside)
    return found


def raw(text: str) -> list[str]:
    """Names in a page as they were given: outside of a string of a script they would be tags."""
    return [f"{one} as it was given" for one in (NAME, FOLDER) if one in text]


def in_a_browser(pages: Sequence[Path], folder: Path) -> list[tuple[str, list[str]]]:
    """Open pages and see whether a name was run."""
    driver = shutil.which("chromedriver")
    binary = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        driver = None
    if not driver or not binary:
        return [("browser: none is here", [])]
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
    for flag in (*flags, "--disable-background-networking", f"--user-data-dir={folder}/profile"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(driver))
    found = []
    try:
        for page in pages:
            browser.get(page.as_uri())
            hacked = browser.execute_script("return window.hacked === undefined ? 0 : 1")
            found.append((f"browser: {page.name}", ["a name was run"] if hacked else []))
    finally:
        browser.quit()
    return found


def main() -> int:
    """Run the cases that are missing; the last three are whole groups."""
    options = arguments(__doc__, 1_000_000)
    import_everything()
    kept = seeds()
    record = Record("untrusted")
    bombed = pickles(kept)
    groups = (run_strangers, run_model_code, run_pages)
    names = ("code inside folders", "code inside models", "names that are HTML")
    for number in record.left(min(options.count, len(groups) + len(bombed)), again=options.again):
        with tempfile.TemporaryDirectory() as name:
            place = Place(Path(name))
            if number < len(groups):
                checked = groups[number](place, kept)
                kind = names[number]
            else:
                target, file, bomb = bombed[number - len(groups)]
                told = f"{target.name}: {file}, {'torch' if bomb else 'pickle'}"
                checked = [(told, run_pickle(target, file, bomb, place, kept))]
                kind = "pickles"
        wrong = [f"{told}: {one}" for told, many in checked for one in many]
        record.add(number, kind=kind, checks=[told for told, _ in checked], wrong=wrong)
        if wrong:
            print(f"case {number}: {kind}: {wrong}", flush=True)
    bad = sum(bool(one["wrong"]) for one in record.cases.values())
    print(f"untrusted: {len(record.cases)} cases, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

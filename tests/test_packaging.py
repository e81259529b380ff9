"""What is built installs into a clean environment, works with the core alone and each extra."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("hf", "lightning", "ray", "optuna", "track")
FEW = "--steps 5 --batch 4 --seeds 1 --test-inputs 8"

BEMA = """
import torch
from lengthwise import BEMA

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
average = BEMA(model, ema_power=0.5, bias_power=0.2)
for _ in range(5):
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    average.update()
live = model.weight.clone()
with average.applied():
    assert not torch.equal(model.weight, live)
assert torch.equal(model.weight, live)
print("averaged")
"""

USES = {
    "hf": """
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from lengthwise import check
from lengthwise.averaging.hugging_face import AveragingCallback
config = LlamaConfig(vocab_size=50, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                     num_attention_heads=2, max_position_embeddings=64)
found = check(LlamaForCausalLM(config), text=torch.randint(50, (1000,)), lengths=[32, 64],
              documents=2, sequences=2, remedies=["yarn-2"])
print(found.verdict())
""",
    "lightning": """
from lengthwise.averaging.lightning import AveragingCallback
print(AveragingCallback())
""",
    "ray": """
from lengthwise.executors import RayExecutor
import ray
print(ray.__version__, RayExecutor)
""",
    "optuna": """
from lengthwise.cli import main
assert main("search run space.py --trials 2 --workers 1".split()) == 0
assert main("search export runs/search/space --to optuna sqlite:///space.db".split()) == 0
""",
    "track": f"""
from lengthwise.cli import main
assert main("train set-complement {FEW} --track tensorboard --out tracked".split()) == 0
""",
}
"""What an extra is for, at its smallest."""

SPACE = """
from lengthwise import recipe_for
from lengthwise.models import MinimalModel
from lengthwise.search import LogUniform, Space
from lengthwise.tasks import SetComplement
recipe = recipe_for(SetComplement(vocab=4), MinimalModel(), max_train_length=2, steps=2)
space = Space(recipe, {"learning_rate": LogUniform(1e-3, 1e-2)})
"""

NEEDS = {"hf": "check somewhere/model --lengths 32,64", "ray": "search run space.py --ray local"}


def run(*command: str | Path, cwd: Path, succeeds: bool = True) -> str:
    """What a command says, without anything of this environment."""
    unset = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
    env = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert (done.returncode == 0) == succeeds, said
    assert "Traceback" not in said
    return said


def environment(folder: Path, above: Path | None = None) -> Path:
    """A new environment, perhaps with the packages of another one below its own; its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin/python"
    if above is not None:
        (own,) = folder.glob("lib/python*/site-packages")
        (lower,) = above.glob("lib/python*/site-packages")
        (own / "lower.pth").write_text(f"{lower}\n", encoding="utf-8")
    return python


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheel and sdist of the files of this checkout."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE", "constraints.txt"):
        shutil.copy(ROOT / name, source)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", source / "src", ignore=ignored)
    run(sys.executable, "-m", "build", "--outdir", source / "dist", source, cwd=source)
    return source / "dist"


@pytest.fixture(scope="module")
def core(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it depends on, and nothing else."""
    folder = tmp_path_factory.mktemp("core") / "venv"
    python = environment(folder)
    (wheel,) = built.glob("*.whl")
    install(python, str(wheel))
    return folder


def install(python: Path, what: str) -> None:
    constraints = str(ROOT / "constraints.txt")
    quiet = ("--quiet", "--disable-pip-version-check")
    run(python, "-m", "pip", "install", *quiet, "-c", constraints, what, cwd=python.parent)


@pytest.mark.slow
def test_wheel_and_sdist_hold_the_package_and_no_more(built: Path) -> None:
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = [one for one in (ROOT / "src/lengthwise").rglob("*") if one.is_file()]
    kinds = (".py", ".css", ".js", ".typed")
    expected = {one.relative_to(ROOT / "src").as_posix() for one in files if one.suffix in kinds}
    expected.add("lengthwise/py.typed")
    assert inside == expected
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names
    assert {f"src/{name}" for name in expected} <= names


@pytest.mark.slow
def test_the_core_alone(core: Path, tmp_path: Path) -> None:
    listed = run(core / "bin/python", "-m", "pip", "list", cwd=tmp_path).lower()
    for package in ("transformers", "lightning", "optuna", "pytest", "mkdocs"):
        assert not re.search(rf"^{package} ", listed, flags=re.MULTILINE), package
    assert not re.search(r"^ray ", listed, flags=re.MULTILINE)
    program = core / "bin/lengthwise"
    version = re.search(r'__version__ = "(.+)"', (ROOT / "src/lengthwise/_version.py").read_text())
    assert version is not None
    assert run(program, "--version", cwd=tmp_path).split() == ["lengthwise", version[1]]
    assert "averaged" in run(core / "bin/python", "-c", BEMA, cwd=tmp_path)
    run(
        program, "train", "set-complement", "--vocab", "6", *FEW.split(), "--out", "a", cwd=tmp_path
    )
    said = run(program, "show", "a", cwd=tmp_path)
    assert "set-complement" in said
    gpt = ["--model", "gpt", "--layers", "1", "--heads", "2", "--width", "8"]
    run(program, "train", "flip-flop", *gpt, *FEW.split(), "--out", "b", cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_alone(extra: str, core: Path, built: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "venv", above=core)
    (wheel,) = built.glob("*.whl")
    install(python, f"{wheel}[{extra}]")
    (tmp_path / "space.py").write_text(SPACE, encoding="utf-8")
    run(python, "-c", USES[extra], cwd=tmp_path)
    for other, command in NEEDS.items():
        if other != extra:
            words = command.split()
            said = run(python, "-m", "lengthwise", *words, cwd=tmp_path, succeeds=False)
            assert f"pip install 'lengthwise[{other}]'" in said
            assert len(said.strip().splitlines()) == 1


def test_extras_are_those_that_are_tried() -> None:
    for_users = set(PROJECT["optional-dependencies"]) - {"dev", "bench", "docs"}
    assert for_users == set(EXTRAS)

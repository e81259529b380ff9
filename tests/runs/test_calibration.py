"""Attention bias calibration: a run whose bias is made of another run's attention."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
import torch
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.models import GPTModel, MinimalModel
from lengthwise.remedies import Keys, Shape
from lengthwise.remedies.calibrated import Calibrated
from lengthwise.runs import Interrupted, Recipe, RunFolder, execute
from lengthwise.runs.models import load_trainer
from lengthwise.runs.start import last_attention
from lengthwise.tasks import SetComplement
from lengthwise.testing import RemedyConformance
from lengthwise.testing.remedy import calls
from lengthwise.training import Hyperparameters

HEADS, MOST = 4, 12
SEEDS = [Hyperparameters(seed=seed) for seed in (3, 8)]
RECIPE = Recipe(
    task=SetComplement(9), model=GPTModel(layers=2, heads=2, width=16, remedies=("rotary",)),
    max_train_length=5, steps=6, batch=8, test_lengths=(8,), test_inputs=8,
)  # fmt: skip


class TestConformance(RemedyConformance):
    """Of all but what needs a run: before it begins, a calibrated bias is none."""

    remedies = ("calibrated", "calibrated:bias=as-coded", "calibrated:bias=random")

    @pytest.mark.skip("a recipe refuses it without start_from: tested below")
    def test_training_resumes_bit_for_bit(self, chain: tuple[str, ...]) -> None:
        pass


def apart(weights: Tensor) -> Tensor:
    """How far queries stand from keys in a sequence that reads itself."""
    places = torch.arange(weights.shape[-1])
    return (places.unsqueeze(-1) - places).expand(len(weights), 1, -1, -1)


def made(kind: str) -> Calibrated:
    return Calibrated(Shape(8, HEADS, 2, 8, 0, MOST, 5), bias=kind)  # type: ignore[arg-type]


def some_attention(length: int, count: int = 3) -> Tensor:
    """Causal attention with a few strong diagonals, and one head without any."""
    torch.manual_seed(length)
    scores = torch.randn(count, HEADS, length, length).double() / 3
    for head, apart in ((0, 0), (1, 1), (1, 3), (2, 2)):
        scores[:, head] += 4 * torch.ones(length - apart).diag(-apart)
    hidden = torch.full((length, length), -torch.inf).double().triu(1)
    weights = (scores + hidden).softmax(-1)
    weights[:, 3] = torch.eye(length)
    return weights


def published(attention: numpy.ndarray, size: int) -> numpy.ndarray:
    """The algorithm on a whole matrix, line by line as it is described: `(heads, size, size)`."""
    heads, length, _ = attention.shape
    found = numpy.zeros((heads, size, size))
    for head in range(heads):
        for i, j in numpy.ndindex(size, size):
            step = min(i, j)
            row, column = i - step, j - step
            while row < length and column < length:
                found[head, i, j] += attention[head, row, column]
                row, column = row + 1, column + 1
        values = numpy.array(sorted({*found[head].flatten().tolist()} - {0.0}))
        least = values.mean() + 0.87 * values.std()
        found[head][found[head] < least] = -1e6
        if (found[head] == -1e6).all():
            found[head] = 0
    return found


def counted(length: int) -> Keys:
    hidden = torch.full((length, length), -torch.inf).double().triu(1)
    return Keys(hidden, torch.arange(length), torch.arange(length), causal=True)


@pytest.mark.parametrize("length", [5, 9])
@pytest.mark.parametrize("kind", ["corrected", "as-coded"])
def test_the_bias_is_that_of_the_published_algorithm(kind: str, length: int) -> None:
    weights = some_attention(length)
    one = made(kind).double()
    one.load_state_dict(one.begun(weights, apart(weights), torch.tensor(1)))
    chosen = weights[0] if kind == "as-coded" else weights.mean(0)
    expected = torch.tensor(published(chosen.numpy(), MOST))
    ours = one.bias(counted(MOST))
    seen = torch.ones(MOST, MOST, dtype=torch.bool).tril()
    if kind == "corrected":
        alone = ~((expected > -1e6) & seen).any(-1)
        assert alone.any(), "some queries reach no kept diagonal"
        expected[alone] = 0.0
    torch.testing.assert_close(ours * seen, expected * seen)
    kept = [{i - j for i, j in ((head > -1e6) & seen).nonzero().tolist() if head[i, j] != 0}
            for head in expected]  # fmt: skip
    assert kept[0] == {0}
    assert {1} <= kept[1] <= {1, 3}
    assert kept[2] == {2}


@pytest.mark.parametrize(("queries", "keys"), [(5, 8), (9, 4)])
def test_the_bias_of_cross_attention_is_aligned_with_the_end_of_the_prompt(
    queries: int, keys: int
) -> None:
    """Anti-diagonals of answer by prompt, which longer ones have where they have the same end."""
    torch.manual_seed(queries)
    scores = torch.randn(3, HEADS, queries, keys).double() / 3
    for head, line in enumerate((0, 1, 2, 1)):
        for i in range(queries):
            if 0 <= keys - 1 - line - i < keys:
                scores[:, head, i, keys - 1 - line - i] += 5
    weights = scores.softmax(-1)
    shape = Shape(8, HEADS, 2, 8, 0, MOST, 5, crossing=True)
    one = Calibrated(shape, cross_deviations=1.5).double()
    backward = torch.arange(keys).flip(0)
    distance = (torch.arange(queries).unsqueeze(-1) - backward).expand(3, 1, -1, -1)
    one.load_state_dict(one.begun(weights, distance, torch.tensor(1)))
    longer = torch.arange(MOST).flip(0)
    found = one.bias(Keys(torch.zeros(MOST, MOST).double(), torch.arange(MOST), longer))
    mean = weights.mean(0)
    for head in range(HEADS):
        lines: dict[int, float] = {}
        for i, j in numpy.ndindex(queries, keys):
            lines[i + j - (keys - 1)] = lines.get(i + j - (keys - 1), 0) + float(mean[head, i, j])
        values = numpy.array(list(lines.values()))
        least = values.mean() + 1.5 * values.std()
        kept = {line: value for line, value in lines.items() if value >= least}
        assert len(kept) == 1
        for i, j in numpy.ndindex(MOST, MOST):
            reached = any(0 <= line + MOST - 1 - i < MOST for line in kept)
            expected = kept.get(i + j - (MOST - 1), -1e6) if reached else 0.0
            assert float(found[head, i, j]) == pytest.approx(expected)


def test_a_head_that_keeps_nothing_has_no_bias() -> None:
    """One low sum may bring the mean so far down, and the deviation up, that none is above."""
    weights = torch.zeros(3, HEADS, 6, 6).double()
    weights[:, 0, 5] = torch.tensor([0.1, 10.4, 10.3, 10.2, 10.1, 10.0])  # distances 5 to 0
    weights[:, 1:] = torch.eye(6)
    table = made("corrected").begun(weights, apart(weights), torch.tensor(0))["diagonals"]
    assert (table[0] == 0).all()
    assert (table[1:, 0] == 6).all()
    assert (table[1:, 1:] == -1e6).all(), "and all beyond the inputs are cut"


def test_random_diagonals_are_as_many_with_the_same_values() -> None:
    weights = some_attention(9)
    given = weights, apart(weights)
    own, other = (made("random").begun(*given, torch.tensor(key))["diagonals"] for key in (1, 2))
    true = made("corrected").begun(*given, torch.tensor(1))["diagonals"]
    assert not torch.equal(own, other)
    for head in range(HEADS):
        values = [table[head][table[head] > -1e6].sort().values for table in (own, other, true)]
        assert torch.equal(values[0], values[2])
        assert torch.equal(values[1], values[2])


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = RunFolder.create(tmp_path_factory.mktemp("abc") / "source", RECIPE, SEEDS, [])
    execute(folder)
    return folder.path


def calibrated(source: Path, kind: str = "corrected") -> Recipe:
    model = replace(RECIPE.model, remedies=(f"calibrated:bias={kind}",))
    return replace(RECIPE, model=model, start_from=str(source))


def test_a_run_takes_the_bias_and_no_weights(source: Path) -> None:
    recipe = calibrated(source)
    fleet = recipe.trainer([SEEDS[1], SEEDS[0]]).fleet
    fresh = recipe.fleet([SEEDS[1], SEEDS[0]])
    assert torch.equal(fleet.weights, fresh.weights), "models are trained anew"
    assert (fresh.buffers["remedies.0.diagonals"] == 0).all()
    table = fleet.buffers["remedies.0.diagonals"]
    alone = recipe.trainer([SEEDS[1]]).fleet.buffers["remedies.0.diagonals"]
    assert torch.equal(alone, table[:1])
    assert (table[:, :, 5:] <= 0).all()
    trained = load_trainer(RunFolder.open(source)).fleet
    for row, index in ((0, 1), (1, 0)):
        model = trained.model(index)
        inputs = torch.stack([torch.randperm(9)[:5] for _ in range(3)])
        weights, distance = last_attention(model, inputs)
        assert torch.equal(distance.expand(3, 1, 5, 5), apart(weights))
        assert weights.shape == (3, 2, 5, 5)
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, 2, 5))
        attention, x, context, read = calls(model, inputs)[-1]
        torch.testing.assert_close(attention.mix(weights, context), attention(x, context, read))
        for head in table[row]:
            kept = head[:5] > -1e6
            assert 1 <= int(kept.sum()) <= 5


def test_the_bias_does_not_change_in_training(source: Path) -> None:
    trainer = calibrated(source).trainer(SEEDS)
    before = trainer.fleet.buffers["remedies.0.diagonals"].clone()
    trainer.run()
    assert torch.equal(trainer.fleet.buffers["remedies.0.diagonals"], before)
    assert (trainer.diverged < 0).all()


@pytest.mark.parametrize("kind", ["corrected", "random"])
def test_the_source_is_not_needed_again_and_a_stopped_run_ends_alike(
    kind: str, source: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(source, moved)
    whole, broken = (
        RunFolder.create(tmp_path / name, calibrated(moved, kind), SEEDS, [])
        for name in ("whole", "broken")
    )
    shutil.rmtree(moved)
    execute(whole)
    asked = iter(range(1, 100))
    with pytest.raises(Interrupted):
        execute(broken, stop=lambda: next(asked) == 3)
    execute(RunFolder.open(broken.path))
    assert broken.table().equals(whole.table())
    ends = [folder.checkpoints()[-1].read_bytes() for folder in (whole, broken)]
    assert ends[0] == ends[1]


def test_what_does_not_fit_is_named(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="start_from = None: expected a run whose attention 'cali"):
        replace(calibrated(source), start_from=None)
    more = replace(calibrated(source), model=GPTModel(heads=4, width=16, remedies=("calibrated",)))
    with pytest.raises(InputError, match=r"of 'calibrated' has shape \(2, 9\) there, expected \(4"):
        more.trainer(SEEDS)
    with pytest.raises(InputError, match="both replace the bias by position"):
        replace(RECIPE, model=GPTModel(remedies=("calibrated", "alibi")), start_from=str(source))
    minimal = replace(RECIPE, model=MinimalModel(), steps=1)
    folder = RunFolder.create(tmp_path / "minimal", minimal, SEEDS, [])
    execute(folder)
    with pytest.raises(InputError, match="expected models whose last layer attends"):
        calibrated(folder.path).trainer(SEEDS)

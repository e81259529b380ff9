"""The theorem's models, the structure lemma and the rank bound."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.measures.distribution import illegal_mass, total_variation
from lengthwise.models import MinimalTransformer
from lengthwise.randomness import seeded
from lengthwise.runs.models import load_model, save_model
from lengthwise.tasks import SetComplement
from lengthwise.theory import (
    Structure,
    Tables,
    balanced_model,
    certify,
    fit_structure,
    minimal_model,
    model_with_tables,
    read_tables,
    unbalanced_model,
)


def draw(generator: torch.Generator, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def random_structure(vocab: int, seed: int) -> Structure:
    generator = torch.Generator().manual_seed(seed)
    return Structure(*(3 * draw(generator, vocab) for _ in range(5)))


@given(st.integers(3, 12), st.floats(0.1, 20.0))
def test_the_minimal_model_attains_the_rate(vocab: int, strength: float) -> None:
    model = minimal_model(vocab, strength)
    assert model.width == model.attention.value.out_features == vocab - 1
    certificate = certify(model)
    assert certificate.precision(1) == pytest.approx(2 * strength + 1)
    for length in range(2, vocab):
        assert certificate.precision(length) == pytest.approx(2 * strength / length)


@given(st.integers(4, 9), st.floats(0.1, 10.0), st.integers(0, 5))
def test_the_balanced_model_has_the_derived_distance(vocab, strength, more):
    model = balanced_model(vocab, strength, extra_width=vocab + 1 + more)
    assert fit_structure(read_tables(model)).structure.balance() == "B1"
    task = SetComplement(vocab)
    inputs = task.draw(torch.tensor(0), vocab - 1, 5).inputs
    logits, targets = model(inputs), task.targets(inputs)
    lengths = torch.arange(1.0, vocab, dtype=torch.float64)
    derived = lengths / (lengths + (vocab - lengths) * (2 * strength / lengths).exp())
    for measure in (total_variation, illegal_mass):
        torch.testing.assert_close(measure(logits, targets), derived.expand(5, -1))


def test_the_counterexample() -> None:
    certificate = certify(unbalanced_model(7))
    assert certificate.precision(1) == pytest.approx(11)
    assert certificate.precision(2) == pytest.approx(1)
    assert certificate.precision(3) == pytest.approx(-7 / 3)


@pytest.mark.parametrize("make", [minimal_model, balanced_model, unbalanced_model])
def test_constructions_can_be_saved_and_trained_further(make, tmp_path) -> None:
    model = make(6)
    save_model(model, tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    inputs = SetComplement(6).enumerate_inputs(3, 1000)
    assert torch.equal(model(inputs), loaded(inputs))
    targets = SetComplement(6).targets(inputs).double()
    optimizer = torch.optim.SGD(loaded.parameters(), lr=1e-3)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(
            loaded(inputs).flatten(0, 1), targets.flatten(0, 1)
        )
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


@given(st.integers(4, 8), st.integers(0, 10**6))
def test_structure_gives_equal_legal_logits_and_its_displacements(vocab: int, seed: int) -> None:
    structure = random_structure(vocab, seed)
    model = model_with_tables(*structure.matrices())
    certificate = certify(model)
    for length in range(1, vocab):
        earlier, last = structure.displacements(length)
        lowest = last.min() if length == 1 else torch.cat([earlier, last]).min()
        assert certificate.precision(length) == pytest.approx(float(lowest), abs=1e-9)
        keeps = float(lowest) >= 2 / length * structure.strength - 1e-9
        assert length < 3 or structure.strength <= 0 or structure.keeps_rate(length) == keeps


@pytest.mark.parametrize("vocab", [4, 5, 6])
def test_the_lemma_leaves_out_no_model(vocab: int) -> None:
    """Equal legal logits at lengths 1 and 2 are linear in (B, D): count their solutions."""
    rows = []
    for length in (1, 2):
        for tokens in itertools.permutations(range(vocab), length):
            legal = [j for j in range(vocab) if j not in tokens]
            for other in legal[1:]:
                row = torch.zeros(2, vocab, vocab, dtype=torch.float64)
                for token, sign in ((legal[0], 1.0), (other, -1.0)):
                    row[0, tokens[-1], token] += sign
                    for read in tokens:
                        row[1, read, token] += sign / length
                rows.append(row.flatten())
    solutions = 2 * vocab**2 - int(torch.linalg.matrix_rank(torch.stack(rows)))
    assert solutions == 5 * vocab - 1  # five vectors, one constant that moves between three


@given(st.integers(4, 10), st.integers(0, 10**6))
def test_the_fit_finds_a_structure_again(vocab: int, seed: int) -> None:
    structure = random_structure(vocab, seed)
    zeros = torch.zeros(vocab, vocab, dtype=torch.float64)
    fit = fit_structure(Tables(*structure.matrices(), zeros, linear=True))
    assert fit.distance < 1e-9
    torch.testing.assert_close(fit.structure.x, structure.x)
    torch.testing.assert_close(fit.structure.delta, structure.delta)


@given(st.integers(4, 8), st.integers(0, 10**6))
def test_no_structure_is_nearer_than_the_fit(vocab: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    bias, displacement = draw(generator, vocab, vocab), draw(generator, vocab, vocab)
    zeros = torch.zeros(vocab, vocab, dtype=torch.float64)
    fit = fit_structure(Tables(bias, displacement, zeros, linear=True))
    assert 0 < fit.distance <= 1
    fitted = fit.structure

    def rest(structure: Structure) -> float:
        return float(
            torch.cat(
                [a - b for a, b in zip(structure.matrices(), (bias, displacement), strict=True)]
            ).norm()
        )

    fields = ("x", "delta", "kappa", "w", "p")
    moved = Structure(**{n: getattr(fitted, n) + 0.01 * draw(generator, vocab) for n in fields})
    assert rest(fitted) <= rest(moved)


def test_grades_of_balance() -> None:
    ones, zeros = torch.ones(5, dtype=torch.float64), torch.zeros(5, dtype=torch.float64)
    rising = torch.arange(1.0, 6.0, dtype=torch.float64)
    for x, delta, grade in (
        (ones, 2 * ones, "B1"),
        (rising, 2 * rising, "B2"),
        (rising, 2 * rising + ones, "B3"),
        (rising, 2 * rising - ones, "none"),
    ):
        assert Structure(x, delta, zeros, zeros, zeros).balance() == grade


@given(st.integers(4, 9), st.integers(1, 3), st.floats(0.1, 10), st.integers(0, 10**6))
def test_below_rank_v_minus_1_there_is_no_precision(vocab, short, scale, seed):
    """Random models, and ones as near to a solution as their rank allows (truncated SVD)."""
    rank = vocab - 1 - min(short, vocab - 2)
    with seeded(seed, "narrow"):
        narrow = MinimalTransformer(vocab, rank - vocab + 1, remedies=("constant",))
    generator = torch.Generator().manual_seed(seed)
    wanted = scale * (1 - torch.eye(vocab)).double() + 0.1 * draw(generator, vocab, vocab)
    u, values, v = torch.linalg.svd(wanted)
    nearest = u[:, :rank] * values[:rank] @ v[:rank]
    for model in (narrow, model_with_tables(torch.zeros_like(nearest), nearest)):
        assert read_tables(model).ranks["B + D"] <= rank
        certificate = certify(model, [1])
        assert certificate.precision(1) <= 0
        assert certificate.margins[1] <= (vocab - 1) / 2 * certificate.legal_spreads[1] + 1e-9


def test_tables_of_constant_and_softmax_attention() -> None:
    constant = read_tables(minimal_model(6))
    assert constant.score_spread == constant.attention_distance == 0
    assert constant.ranks == {"B + D": 5, "D": 5}
    tables = read_tables(MinimalTransformer(6))
    assert tables.bias.dtype == torch.float64
    assert tables.score_spread > 0
    assert 0 < tables.attention_distance < 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: minimal_model(2), "vocab = 2: expected at least 3"),
        (lambda: minimal_model(5, 0.0), "strength = 0.0: expected a positive"),
        (lambda: balanced_model(5, extra_width=5), "extra_width = 5: expected at least 6"),
        (lambda: fit_structure(read_tables(minimal_model(3))), "vocab = 3: expected at least 4"),
    ],
)
def test_bad_input(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()

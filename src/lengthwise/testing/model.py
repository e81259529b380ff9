"""What every model must keep: all that fleets, runs and measures assume of it."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.models import Model
from lengthwise.randomness import seeded
from lengthwise.registry import MODELS
from lengthwise.remedies import Remedy
from lengthwise.runs import Recipe, load_model, save_model
from lengthwise.tasks import (
    Addition,
    AnswerTask,
    ArgmaxRetrieval,
    HiddenFactors,
    Othello,
    PairTask,
    SameWell,
    SeriesTask,
    SetComplement,
    SetTask,
    Successor,
    Task,
    Tokens,
    TokenTask,
)
from lengthwise.testing._answering import require_answers_in_order, require_padding_unread
from lengthwise.testing._shared import (
    CLOSE,
    SITES,
    Sum,
    require_alone_as_in_fleet,
    shaken,
    through_json,
)
from lengthwise.training import Hyperparameters

LENGTH = 5


class ModelConformance:
    """Properties of any model.

    A subclass gives `models`: models, or names or paths of Python files, which stand for the model
    with its default fields. For a model that reads other inputs than those of the package it gives
    `tasks` too.

        class TestMine(ModelConformance):
            models = ("my_model.py", MyModel(width=8))
    """

    models: Sequence[Any]

    def tasks(self, model: Model) -> list[Task]:
        """Small tasks that `model` reads; those of tokens ask after every prefix, or once.

        Of a model for written answers, prompts of one length have one size, or several.
        """
        if issubclass(model.reads, AnswerTask):
            return [Successor(longest=6), Addition(padding="none", longest=6)]
        if issubclass(model.reads, SetTask):
            return [ArgmaxRetrieval(classes=3)]
        if issubclass(model.reads, SeriesTask):
            return [HiddenFactors(factors=2, window=6, horizon=3)]
        if issubclass(model.reads, PairTask):
            return [SameWell(wells=3)]
        once: list[Task] = [Sum(), Sum(padded=True)]
        if getattr(model, "causal", True):
            return [SetComplement(7), Othello(4), *once]
        return once

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Every test sees every model."""
        if "model" in metafunc.fixturenames:
            models = [MODELS.get(one)() if isinstance(one, str) else one for one in self.models]
            metafunc.parametrize("model", models, ids=repr)

    def recipe(self, model: Model, task: Task) -> Recipe:
        """A small recipe."""
        return Recipe(
            task=task,
            model=model,
            max_train_length=LENGTH,
            batch=4,
            steps=2,
            test_lengths=(LENGTH,),
            test_inputs=4,
        )

    def built(self, model: Model, task: Task, *, seed: int = 0, **rates: Any) -> Any:
        """An untrained model in float64."""
        with seeded(seed):
            one = self.recipe(model, task).build(Hyperparameters(**rates))
            return shaken(one.double())

    def rates(self, model: Model) -> list[str]:
        """The dropouts that a model has; others it must refuse."""
        found = []
        for site in SITES:
            rate: dict[str, Any] = {site: 0.5}
            try:
                self.built(model, self.tasks(model)[0], **rate)
            except InputError:
                with pytest.raises(InputError, match=f"^{site} = 0.5: expected"):
                    self.built(model, self.tasks(model)[0], **rate)
            else:
                found.append(site)
        return found

    def test_its_fields_say_all_about_it(self, model: Model) -> None:
        """A model is a frozen dataclass with a name, and JSON holds it."""
        assert isinstance(model, Model)
        assert isinstance(model.name, str)
        fields = {f.name: getattr(model, f.name) for f in dataclasses.fields(model)}
        assert type(model)(**fields) == model
        assert hash(type(model)(**fields)) == hash(model)
        assert hash(model.pack_key(Hyperparameters())) == hash(model.pack_key(Hyperparameters()))

    def test_json_holds_it(self, model: Model) -> None:
        """A run folder can keep it: if it is one of the package or of a Python file."""
        try:
            MODELS.key_of(type(model))
        except InputError:
            pytest.skip("neither of the package nor of a file given by its path")
        for task in self.tasks(model):
            recipe = self.recipe(model, task)
            assert through_json(recipe) == recipe

    def test_it_answers_every_task_that_it_reads(self, model: Model) -> None:
        """On the meta device and on the CPU; as many answers as the task has labels, or more."""
        for task in self.tasks(model):
            batch = task.draw(torch.tensor(1), LENGTH, 4).to(torch.float64)
            with torch.device("meta"):
                outline = model.build(task, Hyperparameters())
            one = self.built(model, task).eval()
            shapes = {name: tensor.shape for name, tensor in one.state_dict().items()}
            assert shapes == {name: tensor.shape for name, tensor in outline.state_dict().items()}
            logits = one(batch.inputs)
            size = task.input_size(LENGTH) if isinstance(task, TokenTask) else LENGTH
            assert logits.shape in ((4, size, task.outputs), (4, task.outputs))
            assert logits.dim() + task.numbers > batch.labels.dim()
            assert logits.isfinite().all()

    def test_other_kinds_of_tasks_are_refused(self, model: Model) -> None:
        """In one line that names the model."""
        for task in (SetComplement(7), ArgmaxRetrieval()):
            if not isinstance(task, model.reads):
                with pytest.raises(InputError, match=f"model = '{model.name}': expected"):
                    self.recipe(model, task)

    def test_remedies_are_used_or_refused(self, model: Model) -> None:
        """None is left out without a word."""
        task = self.tasks(model)[0]
        for name in ("layernorm", "sinusoidal", "none"):
            changed = dataclasses.replace(model, remedies=(name,))
            try:
                one = self.built(changed, task)
            except InputError:
                with pytest.raises(InputError, match=r" = .*: expected"):
                    self.built(changed, task)
            else:
                assert name in {part.name for part in one.modules() if isinstance(part, Remedy)}

    def test_initial_weights_follow_the_seed(self, model: Model) -> None:
        """The same seed gives the same weights, another seed others."""
        task = self.tasks(model)[0]
        states = [self.built(model, task, seed=seed).state_dict() for seed in (1, 1, 2)]
        assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
        assert any(not torch.equal(states[0][name], states[2][name]) for name in states[0])

    def test_alone_is_as_in_a_fleet(self, model: Model) -> None:
        """Logits, gradients and dropouts do not depend on what trains beside it."""
        rates = self.rates(model)
        for task in self.tasks(model):
            every = [
                self.built(model, task, seed=seed, **dict.fromkeys(rates, rate)).train()
                for seed, rate in enumerate((0.0, 0.3, 0.5))
            ]
            batch = task.draw(torch.arange(3), LENGTH, 4).to(torch.float64)
            require_alone_as_in_fleet(every, batch.inputs)

    def test_dropout_rates_act_per_model_and_in_training_only(self, model: Model) -> None:
        """In a fleet, a rate of 0 hides nothing and any other something."""
        task = self.tasks(model)[0]
        inputs = task.draw(torch.tensor([1, 1]), LENGTH, 4).inputs
        for site in self.rates(model):
            every = [Hyperparameters(), Hyperparameters(**{site: 0.5})]  # type: ignore[arg-type]
            fleet = self.recipe(model, task).fleet(every)
            one, other = fleet.predict(inputs, shared_inputs=False)
            torch.testing.assert_close(one, other, msg="they differ in the rate alone")
            first, second = fleet.forward(inputs), fleet.forward(inputs)
            assert torch.equal(first[0], second[0])
            assert not torch.equal(first[1], second[1]), "another step, another mask"
            assert not torch.equal(first[0], first[1])
            again = [fleet.predict(inputs, shared_inputs=False) for _ in range(2)]
            assert torch.equal(*again)

    def test_training_and_measures(self, model: Model) -> None:
        """A few steps on every task that it reads, and measures of the result."""
        for task in self.tasks(model):
            recipe = self.recipe(model, task)
            trainer = recipe.trainer([Hyperparameters(seed=seed) for seed in range(2)])
            before = trainer.fleet.weights.clone()
            trainer.run()
            assert (trainer.diverged < 0).all()
            assert not torch.equal(trainer.fleet.weights, before)
            found = {one.measure: one for one in recipe.measure(trainer.fleet)}
            first = next(iter(found.values()))
            assert first.length == LENGTH
            assert (first.values >= 0).all()
            assert task.numbers or (first.values <= 1).all()

    def test_a_file_brings_it_back(self, model: Model, tmp_path: Path) -> None:
        """`save_model` and `load_model`: the same function, dropouts and recipe."""
        task = self.tasks(model)[0]
        try:
            MODELS.key_of(type(model))
        except InputError:
            pytest.skip("neither of the package nor of a file given by its path")
        rates: dict[str, Any] = dict.fromkeys(self.rates(model), 0.2)
        one = self.built(model, task, **rates)
        batch = task.draw(torch.tensor(1), LENGTH, 4).to(torch.float64)
        save_model(one, tmp_path / "model.safetensors")
        again = load_model(tmp_path / "model.safetensors")
        assert not again.training
        assert again.recipe == one.recipe
        assert torch.equal(again(batch.inputs), one.eval()(batch.inputs))
        assert torch.equal(again.train()(batch.inputs), one.train()(batch.inputs))

    def test_no_answer_depends_on_later_tokens(self, model: Model) -> None:
        """Where every prefix is asked. A model that says it is not causal reads them instead."""
        if not issubclass(model.reads, TokenTask):
            pytest.skip("reads no tokens")
        if issubclass(model.reads, AnswerTask):
            for answers in self.tasks(model):
                assert isinstance(answers, AnswerTask)
                require_answers_in_order(self.built(model, answers), answers, LENGTH)
            return
        causal = getattr(model, "causal", True)
        task: Task = SetComplement(7) if causal else Sum()
        one = self.built(model, task).eval()
        tokens = torch.randint(7, (4, LENGTH))
        for cut in range(1, LENGTH):
            changed = tokens.clone()
            changed[:, cut:] = (tokens[:, cut:] + 1) % 7
            logits, others = one(tokens), one(changed)
            assert not torch.equal(logits[:, cut:], others[:, cut:])
            if causal:
                torch.testing.assert_close(logits[:, :cut], others[:, :cut], rtol=0, atol=1e-10)
            else:
                assert (logits[:, 0] != others[:, 0]).any(), "says that it reads later tokens"
        if not causal:
            with pytest.raises(InputError, match="causal = False: expected"):
                self.recipe(model, SetComplement(7))

    def test_position_ids_and_padding(self, model: Model) -> None:
        """Ids that are not given are 0, 1, ...; padding is as good as absent."""
        if not issubclass(model.reads, TokenTask):
            pytest.skip("reads no tokens")
        if issubclass(model.reads, AnswerTask):
            for answers in self.tasks(model):
                assert isinstance(answers, AnswerTask)
                require_padding_unread(self.built(model, answers), answers, LENGTH)
            return
        one = self.built(model, Sum()).eval()
        tokens = torch.randint(7, (4, LENGTH))
        ids = torch.arange(LENGTH).expand(4, LENGTH)
        everything = torch.ones(4, LENGTH, dtype=torch.bool)
        expected = one(tokens)
        for given in (Tokens(tokens), Tokens(tokens, ids), Tokens(tokens, ids, everything)):
            torch.testing.assert_close(one(given), expected, **CLOSE)
        padded = everything.clone()
        padded[:, 3:] = False
        torch.testing.assert_close(
            one(Tokens(tokens, None, padded))[:, :3], one(tokens[:, :3]), **CLOSE
        )
        # Padding in front: what follows keeps its ids.
        front = everything.clone()
        front[:, :2] = False
        for filling in (tokens[:, :2], (tokens[:, :2] + 1) % 7):
            moved = Tokens(torch.cat([filling, tokens[:, 2:]], 1), ids, front)
            alone = one(Tokens(tokens[:, 2:], ids[:, 2:]))
            torch.testing.assert_close(one(moved)[:, 2:], alone, **CLOSE)

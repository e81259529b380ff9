"""Single models in and out of files."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from lengthwise.errors import InputError
from lengthwise.models import GPTModel, MinimalModel, SetReaderModel
from lengthwise.runs import Recipe, RunFolder, execute, load_model, recipe_for, save_model
from lengthwise.tasks import ArgmaxRetrieval, DictionaryLookup, Othello, SetComplement
from lengthwise.training import Hyperparameters

DROPPED = Hyperparameters(attention_dropout=0.1, resid_dropout=0.2)
GPTS = {"layers": 1, "heads": 2, "width": 8}
RECIPES = [
    recipe_for(SetComplement(6), MinimalModel(extra_width=1, remedies=("batchnorm",))),
    recipe_for(SetComplement(6), GPTModel(**GPTS, remedies=("rotary", "scalable"))),
    recipe_for(Othello(4), GPTModel(**GPTS, layout="post", norm="rmsnorm", mlp="gated")),
    recipe_for(Othello(4), MinimalModel(remedies=("learned", "layernorm:place=before"))),
    recipe_for(ArgmaxRetrieval(), SetReaderModel(width=8, heads=2), test_lengths=(4,)),
    recipe_for(
        DictionaryLookup(keys="symbols", symbols=9),
        SetReaderModel(width=8, remedies=("differential",)),
        max_train_length=5,
        test_lengths=(4,),
    ),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: f"{r.task.name}-{r.model.name}")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_every_kind_of_model_is_loaded_as_it_was(
    recipe: Recipe, dtype: torch.dtype, tmp_path: Path
) -> None:
    model = recipe.build(DROPPED).to(dtype)
    batch = recipe.task.draw(torch.tensor(3), 4, 5).to(dtype)
    model.train()(batch.inputs)  # running statistics and steps of dropout move
    save_model(model, tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    assert not loaded.training
    assert torch.equal(loaded(batch.inputs), model.eval()(batch.inputs))
    assert torch.equal(loaded.train()(batch.inputs), model.train()(batch.inputs)), "same masks"


def test_a_model_of_a_run_with_its_averages(tmp_path: Path) -> None:
    recipe = replace(RECIPES[1], steps=4, batch=2, test_inputs=2)
    every = [replace(DROPPED, seed=seed, ema_powers=(0.3, 0.9)) for seed in range(2)]
    folder = RunFolder.create(tmp_path / "run", recipe, every, [])
    with pytest.raises(InputError, match="a run with a checkpoint"):
        load_model(folder.path)
    execute(folder)
    trainer = recipe.trainer(every)
    trainer.run()
    tokens = torch.tensor([[0, 3, 1]])
    assert trainer.average is not None
    for index in range(2):
        for powers, place in (({}, None), ({"ema_power": 0.9}, (1, None)),
                              ({"ema_power": 0.9, "bias_power": 0.2}, (1, 0))):  # fmt: skip
            weights = None if place is None else trainer.average.weights_at(*place)["weights"]
            expected = trainer.fleet.model(index, weights)
            loaded = load_model(folder.path, index, **powers)
            assert torch.equal(loaded(tokens), expected(tokens))
    path = str(tmp_path / "one.safetensors")  # a path may be a string, too
    save_model(load_model(str(folder.path), 1, ema_power=0.9), path)
    assert load_model(path)(tokens).isfinite().all()
    for given, message in (
        ({"index": 2}, r"model = 2: expected one of 0\.\.1"),
        ({"ema_power": 0.5}, "ema_power = 0.5: expected one that the run kept"),
        ({"bias_power": 0.2}, "ema_power = None: expected a power"),
        ({"ema_power": 0.9, "bias_power": 0.3}, "bias_power = 0.3: expected one that"),
    ):
        with pytest.raises(InputError, match=message):
            load_model(folder.path, **given)  # type: ignore[arg-type]


def test_what_is_no_checkpoint_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with pytest.raises(InputError, match="expected a run folder or a checkpoint file"):
        load_model(path)
    with pytest.raises(InputError, match="model = Linear: expected one that a recipe built"):
        save_model(nn.Linear(2, 2), path)
    model = RECIPES[0].build(DROPPED)
    save_model(model, path)
    with pytest.raises(InputError, match="expected a file that does not exist yet"):
        save_model(model, path)
    save_model(model, path, overwrite=True)
    for given in ({"index": 1}, {"ema_power": 0.5}):
        with pytest.raises(InputError, match=r"expected (0|none), as a checkpoint holds"):
            load_model(path, **given)  # type: ignore[arg-type]
    whole = path.read_bytes()
    damaged = [
        b"", whole[:50], whole[:-3], whole.replace(b"lengthwise model 2", b"lengthwise model 9"),
        whole.replace(b"set-complement", b"set-camplement"), whole.replace(b"vocab", b"vacob"),
        whole.replace(b'"files', b'"fales'), whole.replace(b"bedding.weight", b"bedding.height"),
    ]  # fmt: skip
    for bytes_ in damaged:
        assert bytes_ != whole
        path.write_bytes(bytes_)
        with pytest.raises(InputError, match=r"path = .*: ") as caught:
            load_model(path)
        assert len(str(caught.value).splitlines()) == 1

"""What is compared, as people write it."""

from pathlib import Path

import pytest
from comparing.small import MODEL, own_remedy

from lengthwise.comparing.entries import baseline_entry, parse
from lengthwise.errors import InputError


@pytest.mark.parametrize(
    ("written", "name", "chain"),
    [
        ("alibi", "alibi", ("alibi",)),
        ("none", "none", ("none",)),
        ("layernorm", "layernorm", ("rotary", "layernorm")),
        ("rotary+layernorm", "layernorm", ("rotary", "layernorm")),
        ("fire+layernorm", "fire+layernorm", ("fire", "layernorm")),
        ("randomized", "randomized", ("randomized", "rotary")),
        ("blockwise", "blockwise", ("rotary", "blockwise")),
        ("layernorm:place=before", "layernorm:place=before", ("rotary", "layernorm:place=before")),
        ("rotary", "rotary", ("rotary",)),
        ("rotary+alibi", "rotary+alibi", ("rotary", "alibi")),
        ("alibi+rotary", "alibi+rotary", ("alibi", "rotary")),
    ],
)
def test_positions_replace_the_baselines_and_others_act_beside_them(
    written: str, name: str, chain: tuple[str, ...]
) -> None:
    entry = parse(written, MODEL)
    assert (entry.name, entry.model.remedies) == (name, chain)
    assert parse(entry.specification or "rotary", MODEL) == entry, "what is kept means the same"


def test_settings_change_the_model_the_training_or_what_is_read() -> None:
    assert parse("layout=post", MODEL).model.layout == "post"  # type: ignore[attr-defined]
    assert dict(parse("resid_dropout=0.2", MODEL).hyperparameters) == {"resid_dropout": 0.2}
    assert parse("alibi+ema", MODEL).weights == "ema"
    assert parse("test=yarn", MODEL).test == ("yarn",)
    assert set(dict(parse("dropout", MODEL).hyperparameters).values()) == {0.1}
    assert parse("dropout", MODEL).name == "dropout"


def test_an_average_is_trained_with_what_it_is_an_average_of() -> None:
    assert parse("ema", MODEL).training == baseline_entry(MODEL).training
    assert parse("alibi+bema", MODEL).training == parse("alibi", MODEL).training
    assert parse("alibi", MODEL).training != parse("ema", MODEL).training


def test_a_remedy_of_a_file_goes_by_its_own_name(tmp_path: Path) -> None:
    entry = parse(str(own_remedy(tmp_path)), MODEL)
    assert entry.name == "mine"
    assert entry.model.remedies[0] == "rotary"
    assert entry.model.remedies[1].startswith("own_remedy.py@")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("alibbi", "did you mean 'alibi'"),
        ("layout=pots", "layout = 'pots'"),
        ("layuot=post", "setting = 'layuot': did you mean 'layout'"),
        ("learning_rate=1", "setting = 'learning_rate'"),
        ("alibi++ema", "expected remedies and settings with"),
        ("", "expected remedies and settings with"),
        ("weights=none", "weights = 'none'"),
        ("calibrated", "without another run"),
        ("layernorm:place=nowhere", "place"),
        ("test=nothing", "remedy = 'nothing'"),
        ("no_such_file.py", "file = 'no_such_file.py'"),
    ],
)
def test_what_is_no_entry_is_one_line(written: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        parse(written, MODEL)
    assert "\n" not in str(caught.value)

"""The real Trainer on a tiny real model: LoRA, frozen, bfloat16, accumulation, kill and resume."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytest.importorskip("transformers")
pytest.importorskip("peft")

from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from lengthwise.averaging import BEMA, EMA, AveragingError
from lengthwise.averaging.hugging_face import AveragingCallback
from lengthwise.errors import InputError, LengthwiseWarning


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def tiny_llama(seed: int = 0, dtype: torch.dtype = torch.float32) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=16,
        attention_dropout=0.1,
    )
    return LlamaForCausalLM(config).to(dtype)


def texts(count: int = 64, seed: int = 1) -> list[dict[str, torch.Tensor]]:
    tokens = torch.randint(0, 32, (count, 8), generator=torch.Generator().manual_seed(seed))
    return [{"input_ids": row, "labels": row} for row in tokens]


def arguments(folder: Path, **options) -> TrainingArguments:
    settings = {
        "max_steps": 12,
        "per_device_train_batch_size": 4,
        "per_device_eval_batch_size": 8,
        "learning_rate": 1e-2,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "use_cpu": True,
        "seed": 3,
    }
    return TrainingArguments(output_dir=str(folder), **settings | options)


class Recorder(TrainerCallback):
    """The trainable weights after every step, from the initial ones on."""

    def __init__(self) -> None:
        self.weights: list[dict[str, torch.Tensor]] = []

    def on_train_begin(self, args, state, control, model=None, **kwargs):
        self.record(model)

    def on_step_end(self, args, state, control, model=None, **kwargs):
        self.record(model)

    def record(self, model):
        named = model.named_parameters()
        self.weights.append({n: p.detach().double().clone() for n, p in named if p.requires_grad})


def expected_average(weights: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """BEMA with its defaults, in float64."""
    ema = {name: tensor.clone() for name, tensor in weights[0].items()}
    for t in range(1, len(weights)):
        for name, tensor in weights[t].items():
            ema[name] += (10 + t) ** -0.5 * (tensor - ema[name])
    alpha = (10 + len(weights) - 1) ** -0.2
    return {name: ema[name] + alpha * (weights[-1][name] - weights[0][name]) for name in ema}


def plain(tmp_path: Path):
    return tiny_llama()


def frozen(tmp_path: Path):
    model = tiny_llama()
    model.model.layers[0].requires_grad_(False)
    model.model.embed_tokens.requires_grad_(False)
    return model


def bfloat16(tmp_path: Path):
    return tiny_llama(dtype=torch.bfloat16)


def lora(tmp_path: Path):
    base = tiny_llama()
    base.save_pretrained(tmp_path / "base")
    return get_peft_model(
        LlamaForCausalLM.from_pretrained(tmp_path / "base"),
        LoraConfig(r=2, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    )


@pytest.mark.parametrize("make_model", [plain, frozen, bfloat16, lora])
@pytest.mark.parametrize("accumulation", [1, 3])
def test_the_final_model_is_the_average(tmp_path, make_model, accumulation):
    model, recorder = make_model(tmp_path), Recorder()
    averaging = AveragingCallback(BEMA)
    options = arguments(tmp_path / "out", gradient_accumulation_steps=accumulation)
    Trainer(model, options, train_dataset=texts(), callbacks=[averaging, recorder]).train()
    assert averaging.average.step == 12
    expected = expected_average(recorder.weights)
    for name, tensor in averaging.average.weights().items():
        torch.testing.assert_close(tensor.double(), expected[name], atol=1e-5, rtol=1e-5)

    live = {name: p.detach().clone() for name, p in model.named_parameters()}
    folder = tmp_path / "out" / "averaged"
    if isinstance(model, PeftModel):
        base = LlamaForCausalLM.from_pretrained(tmp_path / "base")
        saved = PeftModel.from_pretrained(base, folder, is_trainable=True)
    else:
        saved = LlamaForCausalLM.from_pretrained(folder, dtype=model.dtype)
    for name, parameter in saved.named_parameters():
        wanted = expected[name].to(parameter.dtype) if name in expected else live[name]
        tolerance = 0.01 if parameter.dtype == torch.bfloat16 else 1e-5
        torch.testing.assert_close(parameter.detach(), wanted, atol=tolerance, rtol=tolerance)


@torch.no_grad()
def loss_on(model, data) -> float:
    model.eval()
    batch = {key: torch.stack([item[key] for item in data]) for key in data[0]}
    return model(**batch).loss.item()


def test_evaluation_during_training_uses_the_average(tmp_path):
    class Checker(TrainerCallback):
        """After an evaluation, computes what it should have found."""

        def on_log(self, args, state, control, logs=None, model=None, **kwargs):
            for name, data in evaluation_data.items():
                if f"eval_{name}_loss" in logs:
                    found.append(logs[f"eval_{name}_loss"])
                    carried.append(loss_on(model, data))

        def on_step_begin(self, args, state, control, model=None, **kwargs):
            copy = tiny_llama()
            copy.load_state_dict(model.state_dict())
            if averaging.average.ready:
                copy.load_state_dict(averaging.average.weights(), strict=False)
            separately.append([loss_on(copy, data) for data in evaluation_data.values()])

    found, carried, separately = [], [], []
    evaluation_data = {"one": texts(8, seed=5), "two": texts(8, seed=6)}
    averaging = AveragingCallback(partial(BEMA, ema_power=0.9))
    trainer = Trainer(
        tiny_llama(),
        arguments(tmp_path, eval_strategy="steps", eval_steps=4),
        train_dataset=texts(),
        eval_dataset=evaluation_data,
        callbacks=[averaging, Checker()],
    )
    averaging.evaluate_averaged(trainer)
    trainer.train()
    assert found == pytest.approx(carried)
    at_step = [loss for step in (4, 8) for loss in separately[step]]
    assert found[:4] == pytest.approx(at_step, rel=1e-5)


def test_training_is_untouched_by_averaged_evaluation(tmp_path):
    def final_weights(evaluate: bool):
        averaging = AveragingCallback()
        trainer = Trainer(
            tiny_llama(),
            arguments(tmp_path, eval_strategy="steps", eval_steps=2),
            train_dataset=texts(),
            eval_dataset=texts(8, seed=5),
            callbacks=[averaging],
        )
        if evaluate:
            averaging.evaluate_averaged(trainer)
        trainer.train()
        return trainer.model.state_dict()

    torch.testing.assert_close(final_weights(True), final_weights(False), rtol=0, atol=0)


def test_before_the_first_update_evaluation_says_so(tmp_path):
    averaging = AveragingCallback(partial(BEMA, update_every=8))
    trainer = Trainer(
        tiny_llama(),
        arguments(tmp_path, max_steps=4, eval_strategy="steps", eval_steps=4),
        train_dataset=texts(),
        eval_dataset=texts(8),
        callbacks=[averaging],
    )
    averaging.evaluate_averaged(trainer)
    with pytest.warns(LengthwiseWarning) as record:
        trainer.train()
    said = [str(w.message) for w in record if issubclass(w.category, LengthwiseWarning)]
    assert said[0] == "no average yet at step 4: the live weights are evaluated"
    assert "ended at step 4, before the first update at step 8" in said[1]
    assert not (tmp_path / "averaged").exists()


def test_averaged_weights_are_not_saved_as_a_checkpoint(tmp_path):
    class SavesTooEarly(TrainerCallback):
        def on_evaluate(self, args, state, control, **kwargs):
            trainer.save_model(str(tmp_path / "wrong"))

    averaging = AveragingCallback()
    trainer = Trainer(
        tiny_llama(),
        arguments(tmp_path, max_steps=2, eval_strategy="steps", eval_steps=2),
        train_dataset=texts(),
        eval_dataset=texts(8),
        callbacks=[averaging, SavesTooEarly()],
    )
    averaging.evaluate_averaged(trainer)
    with pytest.raises(AveragingError, match="must not be saved"):
        trainer.train()
    assert not list(tmp_path.glob("wrong/*.safetensors"))


def test_any_pair_of_powers_can_be_saved(tmp_path):
    averaging = AveragingCallback(partial(BEMA, ema_power=[0.3, 0.7]))
    options = arguments(tmp_path, max_steps=3)
    Trainer(tiny_llama(), options, train_dataset=texts(), callbacks=[averaging]).train()
    averaging.save_pretrained(tmp_path / "chosen", ema_power=0.7, bias_power=None)
    saved = LlamaForCausalLM.from_pretrained(tmp_path / "chosen")
    weights = averaging.average.weights(ema_power=0.7, bias_power=None)
    torch.testing.assert_close(dict(saved.named_parameters()), weights, rtol=0, atol=0)


def test_resuming_without_a_state_is_refused(tmp_path):
    options = arguments(tmp_path, max_steps=4, save_strategy="steps", save_steps=2)
    Trainer(tiny_llama(), options, train_dataset=texts()).train()

    def resume(averaging):
        options = arguments(tmp_path, max_steps=6)
        trainer = Trainer(tiny_llama(), options, train_dataset=texts(), callbacks=[averaging])
        trainer.train(resume_from_checkpoint=True)

    with pytest.raises(InputError, match=r"resumes at step 4, but .*checkpoint-4 has no state"):
        resume(AveragingCallback(EMA))
    late = AveragingCallback(partial(EMA, start_after=4))
    resume(late)
    assert late.average.step == 6


def test_resuming_from_a_checkpoint_elsewhere(tmp_path):
    options = arguments(tmp_path / "first", max_steps=4, save_strategy="steps", save_steps=2)
    first = AveragingCallback()
    Trainer(tiny_llama(), options, train_dataset=texts(), callbacks=[first]).train()
    checkpoint = tmp_path / "first" / "checkpoint-2"
    second = AveragingCallback(resume_from=checkpoint)
    options = arguments(tmp_path / "second", max_steps=4)
    trainer = Trainer(tiny_llama(), options, train_dataset=texts(), callbacks=[second])
    trainer.train(resume_from_checkpoint=str(checkpoint))
    torch.testing.assert_close(
        first.average.state_dict(), second.average.state_dict(), rtol=0, atol=0
    )


class KilledAt(TrainerCallback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            os.kill(os.getpid(), signal.SIGKILL)


def train_in_this_process(folder: Path, variant: str, killed_at: int) -> None:
    """Start or resume a training, and perhaps die in it."""
    model = {"plain": plain, "lora": lora, "bfloat16": bfloat16}[variant](folder)
    settings = {"ema_power": [0.5, 0.8], "start_after": 2, "update_every": 3}
    callbacks = [AveragingCallback(partial(BEMA, **settings)), KilledAt(killed_at)]
    options = arguments(folder / "out", max_steps=16, save_strategy="steps", save_steps=5)
    trainer = Trainer(model, options, train_dataset=texts(), callbacks=callbacks)
    trainer.train(resume_from_checkpoint=(folder / "out" / "checkpoint-5").exists())


@pytest.mark.parametrize(
    "variant",
    ["plain", *(pytest.param(name, marks=pytest.mark.slow) for name in ("lora", "bfloat16"))],
)
def test_a_killed_and_resumed_training_equals_an_uninterrupted_one(tmp_path, variant):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    train_in_this_process(whole, variant, killed_at=0)
    command = [sys.executable, __file__, str(killed), variant, "8"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert not (killed / "out" / "averaged").exists()
    train_in_this_process(killed, variant, killed_at=0)
    files = ["checkpoint-15/averaging.safetensors"]
    files.append("averaged/" + ("adapter_model" if variant == "lora" else "model") + ".safetensors")
    for file in files:
        torch.testing.assert_close(
            load_file(killed / "out" / file), load_file(whole / "out" / file), rtol=0, atol=0
        )


def test_a_missing_extra_says_what_to_install():
    code = (
        "import sys; sys.modules['transformers'] = None; import lengthwise.averaging;"
        "import lengthwise.averaging.hugging_face"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr.strip().endswith("pip install 'lengthwise[hf]'")


if __name__ == "__main__":
    torch.set_num_threads(1)
    train_in_this_process(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))

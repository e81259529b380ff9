"""Valid files of every kind that lengthwise reads, from which damaged ones are made."""

import json
import os
import shutil
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from soak._harness import RECORD, code_digest

SPACE = """
from lengthwise.models import MinimalModel
from lengthwise.runs import recipe_for
from lengthwise.search import Choice, LogUniform, Sometimes, Space, Uniform

space = Space(
    recipe_for("set-complement", MinimalModel(extra_width=1)),
    {
        "task.vocab": 6,
        "max_train_length": Choice(2, 3),
        "model.extra_width": Choice(0, 1, 2, 3),
        "model.remedies": Choice((), ("layernorm",)),
        "steps": 12,
        "batch": 4,
        "test_inputs": 20,
        "learning_rate": LogUniform(1e-3, 1e-1),
        "attention_dropout": Sometimes(Uniform(0.0, 0.5)),
    },
    twins=("model.remedies", "attention_dropout"),
)
"""
REMEDY = '''
"""Sharper scores."""
from lengthwise.remedies import Remedy, remedy

@remedy("sharper")
class Sharper(Remedy):
    """Scores times two."""

    def scores(self, scores, read):
        """Twice."""
        return scores * 2.0
'''
TASK = '''
from dataclasses import dataclass
from torch.nn import functional
from lengthwise.randomness import bits
from lengthwise.tasks import Batch, TokenTask, task

@task("first-token")
@dataclass(frozen=True)
class FirstToken(TokenTask):
    """Name the first token."""

    most: int = 6

    @property
    def classes(self): return 3

    @property
    def lengths(self): return range(2, self.most + 1)

    def draw(self, key, length, count):
        words = bits(key, count * 8).unflatten(-1, (count, 8))[..., :length]
        tokens = (words.long() % 3 + 3) % 3
        return Batch(tokens, tokens[..., 0])

    def targets(self, inputs):
        return functional.one_hot(inputs[..., 0], 3).float()
'''
CLAIM = """
from lengthwise.claims import Claim, Experiment, Finding, PlannedRun, Section
from lengthwise.claims.readings import alive, by_seed, paired_ratio
from lengthwise.models import MinimalModel
from lengthwise.runs import recipe_for
from lengthwise.tasks import SetComplement
from lengthwise.training import Hyperparameters


def plan(scale):
    models = tuple(Hyperparameters(seed=seed) for seed in range(2))
    settings = {"max_train_length": 2, "steps": 4, "batch": 4, "test_inputs": 10}
    return {
        label: PlannedRun(
            recipe_for(SetComplement(6), MinimalModel(remedies=remedies), **settings), models
        )
        for label, remedies in (("plain", ()), ("norm", ("layernorm",)))
    }


def tvd(results, run):
    return alive(results.tables[run], "tvd").select("seed", "length", "value")


def evidence(results):
    plain, norm = (by_seed(tvd(results, run)) for run in ("plain", "norm"))
    return [Finding("TVD, plain / norm", paired_ratio(plain, norm), 1.05)]


OWN = Experiment("own", plan, lambda results: Section("Mine", "Words.", (), ()))
MINE = Claim("mine/norm", "It helps.", "ours", OWN, evidence)
"""
TRAIN = [
    "set-complement", "--vocab", "6", "--max-train-length", "3", "--seeds", "2", "--steps", "6",
    "--batch", "4", "--test-inputs", "16", "--ema-powers", "0.5", "--bias-powers", "0.2",
]  # fmt: skip
OTHELLO = [
    "othello", "--board", "4", "--layers", "1", "--heads", "1", "--width", "8", "--seeds", "1",
    "--steps", "3", "--batch", "4", "--test-inputs", "8", "--max-train-length", "6",
]  # fmt: skip
PROBE = ["--lengths", "4,8", "--sequences", "2"]
CHECK = [
    "--text", "text.txt", "--lengths", "32,64", "--documents", "2", "--sequences", "2",
    "--remedies", "none", "--mechanism", "off",
]  # fmt: skip


def seeds() -> Path:
    """The folder of seeds, made if this code has made none yet."""
    folder = RECORD / f"seeds-{code_digest()}"
    if not folder.exists():
        for old in RECORD.glob("seeds-*"):
            shutil.rmtree(old, ignore_errors=True)
        making = RECORD / f"making-seeds-{os.getpid()}"
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        if os.fork() == 0:  # whatever threads it starts end with it
            status = 1
            try:
                make(making)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        if os.wait()[1] != 0:
            raise RuntimeError(f"the seeds could not be made: see {making}/log")
        making.replace(folder)
    return folder


def make(folder: Path) -> None:
    """Make all seeds in an empty folder."""
    os.chdir(folder)
    for name, text in (("space.py", SPACE), ("remedy.py", REMEDY), ("task.py", TASK),
                       ("claim.py", CLAIM)):  # fmt: skip
        Path(name).write_text(text, encoding="utf-8")
    words = "the cat saw a dog and the dog saw two birds over there by the old tree "
    Path("text.txt").write_text(words * 200, encoding="utf-8")
    results = {"results": {"niah": {"1024,none": 0.9, "2048,none": 0.4, "4096,none": -1}}}
    Path("harness.json").write_text(json.dumps(results), encoding="utf-8")
    Path("page.md").write_text("# Mine\n\n<!-- verdicts -->\nold\n<!-- end -->\n", encoding="utf-8")
    with Path("log").open("w", encoding="utf-8") as log, redirect_stdout(log), redirect_stderr(log):
        _runs()
        _searches()
        _others()
        _models()
    Path("log").unlink()


def _do(*words: str) -> None:
    from lengthwise.cli import main

    sys.argv = ["lengthwise", *words]
    if main(list(words)) != 0:
        raise RuntimeError(f"a seed cannot be made: {' '.join(words)}")


def _runs() -> None:
    from lengthwise.runs import RunFolder, execute, load_model, save_model
    from lengthwise.runs.execute import Interrupted

    _do("train", *TRAIN, "--out", "run", "--test-steps", "2", "4")
    _do("train", *TRAIN, "--remedies", "remedy.py", "--out", "own")
    _do("train", *OTHELLO, "--out", "othello")
    source = RunFolder.open("run")
    stopped = RunFolder.create(
        "stopped", source.recipe, source.hyperparameters, ["lengthwise", "train"]
    )
    for _ in range(2):
        asked = 0

        def stop() -> bool:
            nonlocal asked
            asked += 1
            return asked > 2

        try:
            execute(stopped, stop=stop)
        except Interrupted:
            continue
    save_model(load_model("run"), "model.safetensors")
    save_model(load_model("own"), "own.safetensors")


def _searches() -> None:
    from lengthwise.comparing import StudyFolder
    from lengthwise.comparing.run import run
    from lengthwise.search import load_space, search
    from soak.small import Inline, small_study

    search(load_space(Path("space.py")), 8, "search", executor=Inline(), command=["lengthwise"])
    _cut_last_chunk()
    for name in ("study", "friend"):
        study = StudyFolder.create_or_open(name, small_study(), ["lengthwise", "compare"])
        run(study, executor=Inline())


def _cut_last_chunk() -> None:
    """A search that is not at its end."""
    shutil.copytree("search", "search-stopped")
    sorted(Path("search-stopped/chunks").iterdir())[-1].unlink()


def _others() -> None:
    import torch
    from safetensors.torch import save_file

    generator = torch.Generator().manual_seed(0)
    Path("series").mkdir()
    for step in (1, 2, 3):
        weights = {
            "layer.weight": torch.randn(4, 3, generator=generator),
            "layer.bias": torch.randn(4, generator=generator).bfloat16(),
            "count": torch.tensor(step),
        }
        save_file(weights, f"series/step-{step}.safetensors")
    games = ("othello", "generate", "--games", "24", "--board", "4", "--shard-games", "8")
    _do(*games, "--out", "games", "--legal")
    _do(*games, "--out", "games-parquet", "--format", "parquet")
    _do("reproduce", "claim.py", "--out", "results")


def _models() -> None:
    import torch
    import transformers

    letters = [chr(place) for place in range(32, 127)]
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(letters) + 1, hidden_size=16, intermediate_size=24, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=128,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config)
    model.save_pretrained("hf")
    _tokenizer(letters).save_pretrained("hf")
    _gguf(model, letters, Path("tiny.gguf"))
    _do("probe", "hf", *PROBE, "--out", "probe")
    _do("check", "hf", *CHECK, "--out", "check")


def _tokenizer(letters: list[str]) -> Any:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {letter: place for place, letter in enumerate([*letters, "<unk>"])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>")


def _gguf(model: "object", letters: list[str], path: Path) -> None:
    """The same model as a GGUF file of 32-bit floats."""
    import gguf

    from soak.small import gguf_tensors

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(128)
    writer.add_embedding_length(16)
    writer.add_block_count(1)
    writer.add_feed_forward_length(24)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(8)
    writer.add_vocab_size(len(letters) + 1)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([*letters, "<unk>"])
    writer.add_token_types([1] * len(letters) + [2])
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(len(letters))
    writer.add_eos_token_id(len(letters))
    for name, values in gguf_tensors(model):
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

"""Work so small that it is done in a moment: a comparison, a model's tensors, an executor."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from lengthwise.comparing import Study
from lengthwise.comparing.entries import baseline_entry, parse
from lengthwise.comparing.plans import plan
from lengthwise.executors import Done, Work
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.models import GPTModel

MODEL = GPTModel(layers=1, heads=2, width=8, remedies=("rotary",))

TRAINING = {"max_train_length": 2, "batch": 4, "steps": 8, "test_inputs": 8}


class Inline:
    """An executor that works in this very process: no start of a worker to wait for."""

    name = "inline"
    workers = 1

    def run(self, work: Work, jobs: Sequence[Hashable]) -> Iterator[Done | None]:
        """Do all jobs, one after the other."""
        for job in jobs:
            yield None
            yield Done(job, work.do(job))


def small_study(
    remedies: Sequence[str] = ("alibi", "ema"),
    tasks: Sequence[str] = ("sort", "tomita-3"),
    seeds: int = 2,
    **training: int,
) -> Study:
    """A study whose models train in milliseconds."""
    settings = {"sort": {"longest": 16, "symbols": 16}}
    return Study(
        plans=tuple(
            plan(name, MODEL, settings.get(name, {}), **TRAINING | training) for name in tasks
        ),
        entries=(baseline_entry(MODEL), *(parse(one, MODEL) for one in remedies)),
        rates=(1e-3, 1e-2),
        seeds=seeds,
        hyperparameters=Hyperparameters(warmup=2),
        scale="quick",
    )


def gguf_tensors(model: Any) -> Iterator[tuple[str, Any]]:
    """The tensors of a llama of one layer under the names that GGUF has for them."""
    names = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
        "lm_head.weight": "output.weight",
        "model.layers.0.input_layernorm.weight": "blk.0.attn_norm.weight",
        "model.layers.0.post_attention_layernorm.weight": "blk.0.ffn_norm.weight",
        "model.layers.0.mlp.gate_proj.weight": "blk.0.ffn_gate.weight",
        "model.layers.0.mlp.up_proj.weight": "blk.0.ffn_up.weight",
        "model.layers.0.mlp.down_proj.weight": "blk.0.ffn_down.weight",
        "model.layers.0.self_attn.q_proj.weight": "blk.0.attn_q.weight",
        "model.layers.0.self_attn.k_proj.weight": "blk.0.attn_k.weight",
        "model.layers.0.self_attn.v_proj.weight": "blk.0.attn_v.weight",
        "model.layers.0.self_attn.o_proj.weight": "blk.0.attn_output.weight",
    }
    for name, tensor in model.state_dict().items():
        yield names[name], tensor.numpy()


def tiny_scale() -> None:
    """Make the quick scale of `lengthwise compare` one that takes a second, in this process."""
    from lengthwise.comparing import built_in

    built_in.SCALES["quick"] = built_in.Scale(
        model={"layers": 1, "heads": 2, "width": 8},
        training=TRAINING,
        hyperparameters=Hyperparameters(warmup=2),
        rates=(1e-3, 1e-2),
        seeds=1,
        tasks=("majority",),
        remedies=("alibi", "ema"),
        plans={name: {"steps": 8} for name in built_in.PLANS},
    )

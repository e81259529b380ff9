"""The probe against a plain forward pass and against eager attention that returns its weights.

A random Llama of the shape of SmolLM2-135M, one thread, one sequence. Ten of its thirty layers:
they are all alike, and eager attention keeps the weights of every one. Memory is what a pass needs
in a process of its own beyond the loaded model, which is the same for everyone. The last line takes
all thirty layers, and counts the whole process.
"""

import os
import re
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from _harness import Comparison, arguments, interleaved, report
from transformers import LlamaConfig, LlamaForCausalLM

from lengthwise.probing.observer import Observer, attention_of, observing
from lengthwise.probing.run import forward

LENGTHS = (512, 1024, 2048, 4096)
LAYERS, ALL_LAYERS = 10, 30
LONGEST = 8192
COMPETITORS = ("sdpa", "probe last", "probe all", "eager")


def smollm2_shape(layers: int) -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=layers,
        num_attention_heads=9, num_key_value_heads=3, max_position_embeddings=8192,
        tie_word_embeddings=True,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def forward_pass(model: LlamaForCausalLM, kind: str, length: int) -> Callable[[], object]:
    """One forward pass of a competitor; what it measures is kept until the pass has ended."""
    ids = torch.randint(model.config.vocab_size, (1, length))

    def plain() -> object:
        with attention_of(model, "sdpa"):
            return forward(model, ids)

    def eager() -> object:
        with attention_of(model, "eager"):
            return model(ids, output_attentions=True, use_cache=False, logits_to_keep=1)

    def probed() -> Observer:
        with observing(model, "last" if kind == "probe last" else "all") as observer:
            forward(model, ids)
            return observer

    return {"sdpa": plain, "eager": eager}.get(kind, probed)


def peak_memory(model: LlamaForCausalLM, kind: str, length: int) -> float:
    """The largest resident memory in MB while a pass runs, beyond what was there before it."""
    with torch.inference_mode():
        forward_pass(model, kind, 16)()  # what is set up once, whatever the length
        before = _status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        forward_pass(model, kind, length)()
    return _status("VmHWM") - before


def whole_process() -> float:
    """The largest resident memory in GB of a process that probes all layers at the longest."""
    with torch.inference_mode():
        forward_pass(smollm2_shape(ALL_LAYERS), "probe last", LONGEST)()
    return _status("VmHWM") / 1024


def _status(field: str) -> float:
    text = Path("/proc/self/status").read_text()
    found = re.search(rf"{field}:\s+(\d+) kB", text)
    assert found is not None
    return int(found.group(1)) / 1024


def forked(work: Callable[[], float]) -> float:
    """Run `work` in a process forked from here, which finds the model in place."""
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(work()))
    process.start()
    value = receiver.recv()
    process.join()
    return float(value)


def main() -> int:
    """Run the comparisons."""
    options = arguments(__doc__ or "")
    torch.set_num_threads(1)
    model = smollm2_shape(LAYERS)
    # Before any pass has run here: a forked process must not find memory to reuse.
    memory = {
        (length, kind): forked(partial(peak_memory, model, kind, length))
        for length in LENGTHS
        for kind in COMPETITORS
    }
    whole = forked(whole_process)
    comparisons: list[Comparison] = []
    figures: dict[str, float] = {}
    for length in LENGTHS:
        with torch.inference_mode():
            passes = {kind: forward_pass(model, kind, length) for kind in COMPETITORS}
            taken = interleaved(passes, rounds=max(3, 8192 // length))
        for kind in COMPETITORS:
            beyond = memory[length, kind]
            figures[f"{length}: {kind}"] = taken[kind]
            print(f"{length}: {kind} {taken[kind]:.3f} s, {beyond:.0f} MB beyond the model")
        comparisons += compare(length, taken, {kind: memory[length, kind] for kind in COMPETITORS})
    name = f"{LONGEST} tokens, {ALL_LAYERS} layers, last position, whole process in GB"
    comparisons.append(Comparison(name, whole, 4, "at most"))
    return report(comparisons, figures, options.json)


def compare(length: int, time: dict[str, float], memory: dict[str, float]) -> list[Comparison]:
    last, everything = "probe last", "probe all"
    return [
        Comparison(f"{length}: last / sdpa, time", time[last] / time["sdpa"], 1.3, "at most"),
        Comparison(f"{length}: last / sdpa, memory", memory[last] / memory["sdpa"], 1.2, "at most"),
        Comparison(
            f"{length}: all / eager, time", time[everything] / time["eager"], 1.0, "at most"
        ),
        Comparison(f"{length}: eager / all, memory", memory["eager"] / memory[everything], 3.0),
        Comparison(f"{length}: all / sdpa, time (aim: 2)", time[everything] / time["sdpa"]),
    ]


if __name__ == "__main__":
    raise SystemExit(main())

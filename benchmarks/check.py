"""The check against bare forward passes of the same tokens.

A random Llama of the shape of SmolLM2-135M, one thread. Bare passes keep the logits of the last
position only; the check reads, copies and looks for needles, and scores what it needs. Memory is
what a pass needs in a process of its own beyond the loaded model; two layers of thirty, which are
all alike and free what they used, at the length where the bar lies.
"""

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from _harness import Comparison, arguments, interleaved, report
from probe import forked, smollm2_shape
from transformers import LlamaForCausalLM

from lengthwise.checking.behaviour import BATCH_TOKENS, measure
from lengthwise.checking.inputs import TARGETS, Inputs
from lengthwise.checking.mechanism import Watcher
from lengthwise.checking.scoring import score
from lengthwise.probing.inputs import Vocabulary
from lengthwise.probing.observer import attention_of
from lengthwise.probing.run import forward

LENGTH, LONGEST = 1024, 16384
LAYERS, MEMORY_LAYERS = 30, 2
DOCUMENTS, SEQUENCES = 2, 1
ROUNDS = 2


def inputs_of(model: LlamaForCausalLM, length: int) -> Inputs:
    vocabulary = Vocabulary(torch.arange(model.config.vocab_size))
    text = torch.randint(model.config.vocab_size, (DOCUMENTS * length,))
    return Inputs(vocabulary, text, None, DOCUMENTS, TARGETS, 0)


def bare(model: LlamaForCausalLM, inputs: Inputs) -> None:
    """The same passes: all documents, then what is copied, then haystacks."""
    sets = (DOCUMENTS, SEQUENCES, SEQUENCES)
    for count in sets:
        ids = torch.stack([inputs.document(n % DOCUMENTS, LENGTH) for n in range(count)])
        for batch in ids.split(max(1, BATCH_TOKENS // LENGTH)):
            forward(model, batch)


def checked(model: LlamaForCausalLM, inputs: Inputs) -> None:
    measure(model, inputs, LENGTH, SEQUENCES)


def watched(model: LlamaForCausalLM, inputs: Inputs) -> None:
    watcher = Watcher(model, LENGTH, TARGETS)
    measure(model, inputs, LENGTH, SEQUENCES, around=watcher.around)
    watcher.summary(0, LENGTH)


def peak(model: LlamaForCausalLM, work: Callable[[int], object]) -> float:
    """The largest resident memory in MB while `work` runs, beyond what was there before it."""
    with torch.inference_mode(), attention_of(model, "sdpa"):
        work(256)  # what is set up once, whatever the length
        before = _status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        work(LONGEST)
    return _status("VmHWM") - before


def _status(field: str) -> float:
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found.group(1)) / 1024


def memory() -> dict[str, float]:
    """Of a bare pass and of a document that is scored as the check does it."""
    model = smollm2_shape(MEMORY_LAYERS)
    longest = inputs_of(model, LONGEST)

    def pass_alone(length: int) -> None:
        forward(model, longest.document(0, length).unsqueeze(0))

    def scored(length: int) -> None:
        _, targets, positions = longest.reading(length)
        asked = torch.cat((targets, positions)).unique()
        score(model, longest.document(0, length).unsqueeze(0), asked)

    return {
        "bare": forked(partial(peak, model, pass_alone)),
        "check": forked(partial(peak, model, scored)),
    }


def main() -> int:
    """Run the comparisons."""
    options = arguments(__doc__ or "")
    torch.set_num_threads(1)
    needed = memory()  # before any pass has run here: a fork must not find memory to reuse
    model = smollm2_shape(LAYERS)
    inputs = inputs_of(model, LENGTH)
    passes: dict[str, Callable[[], object]] = {
        "bare": partial(bare, model, inputs),
        "check": partial(checked, model, inputs),
        "check and mechanism": partial(watched, model, inputs),
    }
    with torch.inference_mode(), attention_of(model, "sdpa"):
        taken = interleaved(passes, rounds=ROUNDS)
    for name, seconds in taken.items():
        print(f"{name}: {seconds:.2f} s")
    for name, megabytes in needed.items():
        print(f"{name}: {megabytes:.0f} MB beyond the model at {LONGEST} tokens")
    both = taken["check and mechanism"] / taken["bare"]
    comparisons = [
        Comparison("check / bare, time", taken["check"] / taken["bare"], 1.15, "at most"),
        Comparison("check and mechanism / bare, time", both, 1.5, "at most"),
        Comparison(
            f"{LONGEST}: check / bare, memory", needed["check"] / needed["bare"], 1.3, "at most"
        ),
    ]
    return report(comparisons, taken, options.json)


if __name__ == "__main__":
    raise SystemExit(main())

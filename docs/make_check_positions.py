"""Loss by position in one document of 16384 tokens, plain and with what-ifs, a pass each.

The whole check of a what-if at this length takes six passes; one document shows already where along
the input a what-if mends something. What is done is kept in OUT/positions.csv.

CHECK is the folder of a check of the same model, whose watched attention `rescale` needs.

    python docs/make_check_positions.py OUT CHECK [WHAT-IF ...]
"""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import polars
import torch

from lengthwise.checking.inputs import TARGETS, Inputs
from lengthwise.checking.run import rescaling
from lengthwise.checking.scoring import score
from lengthwise.checking.what_ifs import Situation, what_if
from lengthwise.probing.inputs import Vocabulary, read_text
from lengthwise.probing.models import load
from lengthwise.probing.observer import attention_of
from lengthwise.probing.summary import Summary

LENGTH, DOCUMENTS, BUCKET = 16384, 4, 1024
PLAIN = "plain"


def main(out: Path, check: Path, names: list[str]) -> None:
    """Read the first document of the check once for each what-if that is not done."""
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    file = out / "positions.csv"
    done = polars.read_csv(file) if file.exists() else None
    model, tokenizer = load("smollm2", "bfloat16")
    text = read_text("shakespeare", tokenizer)
    inputs = Inputs(Vocabulary.of(model, tokenizer), text, tokenizer, DOCUMENTS, TARGETS, 0)
    ids, _, positions = inputs.reading(LENGTH)
    trained = int(model.config.max_position_embeddings)
    watched = check / "lengths" / PLAIN
    before, now = (
        Summary.load(watched / f"{n:07d}.mechanism.safetensors") for n in (trained, LENGTH)
    )
    situation = Situation(trained, LENGTH, rescaling(before, now))
    for name in names:
        if done is not None and name in done["what_if"]:
            continue
        changed: AbstractContextManager[None] = nullcontext()
        if name != PLAIN:
            changed = what_if(name).apply(model, situation)
        with torch.inference_mode(), attention_of(model, "sdpa"), changed:
            loss = score(model, ids[:1], positions).loss[0].double()
        rows = polars.DataFrame(
            {
                "what_if": name,
                "position": positions.numpy() // BUCKET * BUCKET,
                "loss": loss.numpy(),
            }
        )
        mean = rows.group_by("what_if", "position").agg(polars.col("loss").mean()).sort("position")
        done = mean if done is None else polars.concat([done, mean])
        done.write_csv(file)
        print(name, *(f"{value:.2f}" for value in mean["loss"]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])

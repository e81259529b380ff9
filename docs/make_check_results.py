"""Train four small GPTs that differ in their positions, and check them side by side.

All learn Shakespeare letter by letter from the same windows in the same order. In the first half of
training windows have 32, 64, 128 or 256 letters, so that also models that must find out by
themselves what lies near read more than pairs of letters; in the second half all have 256. The
models are checked on the last tenth, which none has seen, up to 4096 letters. Learned positions end
at 256, so that model is checked up to there.

    python docs/make_check_results.py OUT
"""

import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor

from lengthwise.checking import check
from lengthwise.checking.compare import save_comparison
from lengthwise.probing.packaged import TEXTS, packaged
from lengthwise.randomness import address

TRAINED, LONGEST = 256, 4096
LAYERS, HEADS, WIDTH = 3, 4, 96
WINDOWS = (32, 64, 128, 256)
STEPS, LETTERS, LEARNING_RATE, SPREAD = 3000, 1024, 4e-3, 0.05
"""Steps, letters of a batch, the highest learning rate, and the deviation of first weights."""


def letters() -> Tensor:
    """The text as numbers of its letters."""
    text = packaged("shakespeare", TEXTS["shakespeare"], "text").read_text(encoding="utf-8")
    known = {letter: number for number, letter in enumerate(sorted(set(text)))}
    return torch.tensor([known[letter] for letter in text])


def models(vocabulary: int) -> dict[str, transformers.PreTrainedModel]:
    """Four models of about the same size, by their positions."""
    llama: dict[str, Any] = {
        "vocab_size": vocabulary, "hidden_size": WIDTH, "intermediate_size": 3 * WIDTH,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": HEADS,
        "max_position_embeddings": TRAINED, "tie_word_embeddings": True, "pad_token_id": None,
        "bos_token_id": None, "eos_token_id": None, "initializer_range": SPREAD,
    }  # fmt: skip
    gpt2 = transformers.GPT2Config(
        vocab_size=vocabulary, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_positions=TRAINED,
        bos_token_id=None, eos_token_id=None, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        initializer_range=SPREAD,
    )  # fmt: skip
    bloom = transformers.BloomConfig(
        vocab_size=vocabulary, hidden_size=WIDTH, n_layer=LAYERS, n_head=HEADS,
        max_position_embeddings=TRAINED, pad_token_id=None, bos_token_id=None, eos_token_id=None,
        initializer_range=SPREAD,
    )  # fmt: skip
    without = transformers.SmolLM3Config(**llama, no_rope_layers=[0] * LAYERS)
    kinds: dict[str, tuple[Any, Any]] = {
        "rotary": (transformers.LlamaForCausalLM, transformers.LlamaConfig(**llama)),
        "ALiBi": (transformers.BloomForCausalLM, bloom),
        "none": (transformers.SmolLM3ForCausalLM, without),
        "learned": (transformers.GPT2LMHeadModel, gpt2),
    }
    made = {}
    for name, (kind, config) in kinds.items():
        torch.manual_seed(0)
        made[name] = kind(config)
    return made


def train(model: transformers.PreTrainedModel, text: Tensor) -> float:
    """Train on windows of the text, and give the last loss."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, STEPS)
    generator = torch.Generator().manual_seed(address(0, "windows"))
    loss = torch.tensor(0.0)
    for step in range(STEPS):
        drawn = WINDOWS[int(torch.randint(len(WINDOWS), (), generator=generator))]
        window = drawn if step < STEPS // 2 else TRAINED
        starts = torch.randint(len(text) - window, (LETTERS // window,), generator=generator)
        ids = torch.stack([text[start : start + window] for start in starts])
        loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if step % 100 == 99:
            print(f"{step + 1} steps, loss {float(loss.detach()):.3f}", flush=True)
    return float(loss.detach())


def main(out: Path) -> None:
    """Train, or take what was trained before, and check."""
    torch.set_num_threads(1)
    text = letters()
    learn, unseen = text[: 9 * len(text) // 10], text[9 * len(text) // 10 :]
    done = {}
    for name, model in models(int(text.max()) + 1).items():
        print(name, sum(p.numel() for p in model.parameters()), "parameters", flush=True)
        folder = out / "models" / name
        if folder.exists():
            model = type(model).from_pretrained(folder)
        else:
            train(model, learn)
            model.save_pretrained(folder)
        lengths = [64, 128, 256] + ([512, 1024, 2048, 4096] if name != "learned" else [])
        done[name] = check(
            model.eval(), text=unseen, lengths=lengths, name=name, out=out / name, say=print
        )
        done[name].save(out / name)
        print(done[name].verdict(), flush=True)
    save_comparison(done, out, f"python docs/make_check_results.py {out.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Write the part of `remedies.md` that shows every remedy: text, picture, code, source, cost.

    python docs/make_remedies_page.py              the page alone
    python docs/make_remedies_page.py --pictures   the pictures as well

The text is that of the docstrings, and the times are those of `benchmarks/remedies.py --json
docs/results/remedies/speed.json`.
"""

import json
import re
import sys
from pathlib import Path

from lengthwise.cli import main as lengthwise
from lengthwise.registry import REMEDIES
from lengthwise.remedies._catalogue import KINDS, Entry, catalogue, with_what_it_needs

DOCS = Path(__file__).parent
PAGE = DOCS / "remedies.md"
PICTURES = DOCS / "images" / "remedies"
SPEED = DOCS / "results" / "remedies" / "speed.json"
BEGIN, END = "<!-- remedies: begin -->\n", "<!-- remedies: end -->\n"

TITLES = {
    "1602.02068": "From Softmax to Sparsemax: A Sparse Model of Attention and Multi-Label "
    "Classification",
    "1705.03122": "Convolutional Sequence to Sequence Learning",
    "1706.03762": "Attention Is All You Need",
    "1905.05702": "Sparse Sequence-to-Sequence Models",
    "1910.07467": "Root Mean Square Layer Normalization",
    "1910.10683": "Exploring the Limits of Transfer Learning with a Unified Text-to-Text "
    "Transformer",
    "2005.09561": "Normalized Attention Without Probability Cage",
    "2010.04245": "Query-Key Normalization for Transformers",
    "2103.13076": "Finetuning Pretrained Transformers into RNNs",
    "2104.09864": "RoFormer: Enhanced Transformer with Rotary Position Embedding",
    "2108.12409": "Train Short, Test Long: Attention with Linear Biases Enables Input Length "
    "Extrapolation",
    "2205.09921": "KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation",
    "2212.10554": "A Length-Extrapolatable Transformer",
    "2212.14246": "Robust representations of oil wells' intervals via sparse attention mechanism",
    "2305.16843": "Randomized Positional Encodings Boost Length Generalization of Transformers",
    "2305.19466": "The Impact of Positional Encoding on Length Generalization in Transformers",
    "2306.15595": "Extending Context Window of Large Language Models via Positional Interpolation",
    "2309.00071": "YaRN: Efficient Context Window Extension of Large Language Models",
    "2310.04418": "Functional Interpolation for Relative Positions Improves Long Context "
    "Transformers",
    "2310.11984": "From Interpolation to Extrapolation: Complete Length Generalization for "
    "Arithmetic Transformers",
    "2405.17399": "Transformers Can Do Arithmetic with the Right Embeddings",
    "2405.18719": "Contextual Position Encoding: Learning to Count What's Important",
    "2405.20671": "Position Coupling: Improving Length Generalization of Arithmetic Transformers "
    "Using Task Structure",
    "2409.04431": "Theory, Analysis, and Best Practices for Sigmoid Self-Attention",
    "2410.01104": "softmax is not enough (for sharp out-of-distribution)",
    "2410.02703": "Selective Attention Improves Transformer",
    "2410.05258": "Differential Transformer",
    "2410.17980": "Scaling Stick-Breaking Attention: An Efficient Implementation and In-depth "
    "Study",
    "2501.19399": "Scalable-Softmax Is Superior for Attention",
    "2503.02130": "Forgetting Transformer: Softmax Attention with a Forget Gate",
    "2504.02827": "On Vanishing Variance in Transformer Length Generalization",
    "2505.09388": "Qwen3 Technical Report",
    "2506.16640": "Long-Context Generalization with Sparse Attention",
    "2508.10925": "gpt-oss-120b & gpt-oss-20b Model Card",
    "2510.08341": "Learning What's Missing: Attention Dispersion and EMA Stabilization in Length "
    "Generalization",
}
"""Of the papers, by their numbers on arXiv."""

AT_TEST = """\
from lengthwise import recipe_for
from lengthwise.models import GPTModel
from lengthwise.tasks import Othello

model = GPTModel(remedies=("rotary",))
recipe = recipe_for(Othello(6), model, max_train_length=16, test_remedies=("{name}",))"""

IN_A_MODEL = """\
import torch
from lengthwise.models import GPT

remedies = {remedies}
model = GPT(16, max_length=512, max_train_length=64, remedies=remedies{causal})
logits = model(torch.randint(16, (2, 128)))"""


def snippet(entry: Entry) -> str:
    """Five lines that use a remedy: in a model, or in tests of one that was trained without it."""
    kind = REMEDIES.get(entry.name)
    if kind.in_place_of or "test_remedies" in entry.text:
        return AT_TEST.format(name=entry.name)
    beside = ("rotary",) if entry.kind in ("scores and weights", "norms") else ()
    names = (*beside, *with_what_it_needs(entry.name))
    remedies = repr(names).replace("'", '"')
    return IN_A_MODEL.format(remedies=remedies, causal="" if kind.causal else ", causal=False")


def cost(entry: Entry, factors: dict[str, float]) -> str:
    """Parameters, and how long a training step takes over one with rotary positions."""
    many = f"{entry.parameters:,} parameters" if entry.parameters else "no parameters"
    names = {length: f"{length} tokens, {entry.name} / rotary" for length in (64, 512)}
    times = [
        f"{factors[name]:.2f} times as long at {length} tokens"
        for length, name in names.items()
        if name in factors
    ]
    return f"{many}; a training step takes {' and '.join(times)}" if times else many


def paragraph(entry: Entry, factors: dict[str, float]) -> str:
    """All that the page says of one remedy."""
    title = TITLES.get(entry.source)
    cited = f" *{title}*, [arXiv {entry.source}](https://arxiv.org/abs/{entry.source})."
    options = "; ".join(f"`{option}`" for option in entry.options)
    lines = [
        f"### {entry.name}",
        escaped(entry.text),
        f"![{entry.name}: mean weight by distance, largest weight and size of the output by "
        f"length](images/remedies/{entry.name}.svg)",
        f"```python\n{snippet(entry)}\n```",
        f"**Acts on** {', '.join(f'`{hook}`' for hook in entry.hooks) or 'nothing'}."
        + (f" **Options** {options}." if options else "")
        + f" **Cost** {cost(entry, factors)}."
        + (f" **Source**{cited}" if entry.source else ""),
    ]
    return "\n\n".join(lines)


def escaped(text: str) -> str:
    """A docstring as Markdown: what is no code must not look like a tag or like emphasis."""
    parts = re.split(r"(`[^`]*`)", text)
    plain = [re.sub(r"[*<]", lambda found: f"\\{found[0]}", part) for part in parts[::2]]
    parts[::2] = plain
    return "".join(parts)


def contents(listed: dict[str, list[Entry]]) -> str:
    """A table of contents by kind."""
    rows = [
        f"| [{kind}](#{kind.replace(' ', '-')}) | "
        + ", ".join(f"[{entry.name}](#{entry.name})" for entry in own)
        + " |"
        for kind, own in listed.items()
    ]
    return "\n".join(["| kind | remedies |", "|---|---|", *rows])


def written(page: str) -> str:
    """The page with its generated part made anew."""
    measured = json.loads(SPEED.read_text(encoding="utf-8"))["comparisons"]
    factors = {one["name"]: one["ratio"] for one in measured}
    listed = catalogue()
    parts = [contents(listed)]
    for kind, own in listed.items():
        parts += [f"## {kind.capitalize()}", f"{KINDS[kind].capitalize()}."]
        parts += [paragraph(entry, factors) for entry in own]
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return before + BEGIN + "\n" + "\n\n".join(parts) + "\n\n" + END + after


if __name__ == "__main__":
    if sys.argv[1:] == ["--pictures"]:
        lengthwise(["remedies", "--pictures", str(PICTURES)])
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

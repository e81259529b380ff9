"""All tasks by family, without importing them: a list needs no torch."""

from lengthwise.registry import TASKS, Listed

FAMILIES = {
    "formal languages": (
        "after every prefix of a word, what may follow",
        ("tomita", "regular", "dyck", "counting", "language"),
    ),
    "C-RASP and RASP-L": (
        "what short programs can and cannot do at any length",
        ("copying", "majority", "crasp_parity", "crasp_addition"),
    ),
    "Chomsky hierarchy": (
        "regular, context-free and context-sensitive transductions",
        ("chomsky_regular", "chomsky_context_free", "chomsky_context_sensitive"),
    ),
    "arithmetic": (
        "numbers in the formats of several papers",
        ("addition", "successor", "multiplication", "parity_scratchpad", "minesweeper"),
    ),
    "string edits": ("shorter and longer than a band of lengths", ("string_edits",)),
    "retrieval": (
        "one item among many",
        ("argmax_retrieval", "dictionary_lookup", "flip_flop", "mqar", "mqmtar", "n_back",
         "needle"),
    ),
    "pointing and counting": (
        "where something stands, and how often",
        ("cases", "local_global", "sparse_parity", "set_complement"),
    ),
    "series": ("numbers as inputs", ("hidden_factors", "same_well")),
    "language with a known source": ("the exact distribution of the next token", ("markov",)),
    "games": ("moves, of which the rules are not told", ("othello",)),
}  # fmt: skip
"""What a family is about, and the files of its tasks. A task of no family is among the others."""

OTHERS = "others"


def family_of(name: str) -> str:
    """The family of a task of the package."""
    file = TASKS.listed()[name].module.rpartition(".")[2]
    for family, (_, files) in FAMILIES.items():
        if file in files:
            return family
    return OTHERS


def by_family() -> dict[str, list[Listed]]:
    """All tasks of the package, the families in their order, as their files stand."""
    found: dict[str, list[Listed]] = {family: [] for family in (*FAMILIES, OTHERS)}
    for name, listed in TASKS.listed().items():
        found[family_of(name)].append(listed)
    return {family: tasks for family, tasks in found.items() if tasks}

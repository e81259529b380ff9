"""What is measured in the first layer: inputs, queries, positions, and how much of each.

The paper shows one component in Llama-3.2-1B and does not say which token asks. Here every kind of
input meets every kind of query, with rotary positions on and off, and all components count.
"""

import itertools
from typing import Literal, NamedTuple, get_args

from lengthwise.claims import Scale
from lengthwise.probing.inputs import Input, Query

MODEL = "smollm2"
TEXT = "shakespeare"
LAYER = 0


class Size(NamedTuple):
    """How much is measured. Ours."""

    longest: int
    """Lengths double from 16 up to this one."""
    sequences: int
    """Of each length."""
    tokens: int
    """How many query tokens the claim is tested on, each with sequences of its own."""


SIZES: dict[Scale, Size] = {
    "quick": Size(512, 32, 3),
    "laptop": Size(2048, 64, 5),
    "paper": Size(8192, 256, 10),
}

TITLES = {"random": "random tokens", "unigram": "unigrams", "text": "Shakespeare"}

Positions = Literal["on", "off"]


class Condition(NamedTuple):
    """What is put into the model, and whether it is altered."""

    positions: Positions
    input: Input
    query: Query

    def __str__(self) -> str:
        """In words."""
        rotary = "RoPE on" if self.positions == "on" else "RoPE off (altered model)"
        return f"{TITLES[self.input]}, {self.query} query, {rotary}"

    @property
    def decides(self) -> bool:
        """Proposition 1 speaks of a fixed query: if the query varies, so does what it asks for."""
        return self.query == "fixed" and self.positions == "on"


CONDITIONS = [
    Condition(*parts)
    for parts in itertools.product(get_args(Positions), get_args(Input), get_args(Query))
]

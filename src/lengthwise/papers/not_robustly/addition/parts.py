"""Claims: hints are needed, reversed order is better, and dropout hurts."""

from lengthwise.claims import Claim
from lengthwise.papers.not_robustly import ARXIV
from lengthwise.papers.not_robustly.addition import plan as runs
from lengthwise.papers.not_robustly.addition.readings import worse_without
from lengthwise.papers.not_robustly.addition.section import ADDITION

HINTS = Claim(
    "not-robustly/hints",
    "Without index hints the recipe for addition does not carry as far beyond its training length.",
    f"{ARXIV}, index hints, in miniature",
    ADDITION,
    lambda results: worse_without(results, runs.NO_HINTS, "it without hints"),
    place=10,
)
REVERSED = Claim(
    "not-robustly/reversed",
    "With numbers in plain order the recipe for addition does not carry as far as with reversed "
    "ones.",
    f"{ARXIV}, data formats, in miniature",
    ADDITION,
    lambda results: worse_without(results, runs.PLAIN_ORDER, "it in plain order"),
    place=20,
)
DROPOUT = Claim(
    "not-robustly/dropout",
    "With a dropout of 0.2 the recipe for addition does not carry as far.",
    f"{ARXIV}, dropout, in miniature",
    ADDITION,
    lambda results: worse_without(results, runs.DROPOUT, "it with dropout 0.2"),
    place=40,
)

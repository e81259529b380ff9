"""Claim: reach falls as the number of tokens that an answer depends on rises."""

from itertools import pairwise

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.claims.readings import paired_ratio, slope
from lengthwise.papers.role_of_sparsity import ARXIV
from lengthwise.papers.role_of_sparsity.marked_bits import plan as runs
from lengthwise.papers.role_of_sparsity.marked_bits.section import MARKED_BITS


def evidence(results: Results) -> list[Finding]:
    """The fall over all k decides, at the seeds where all were learned; steps of it are shown."""
    reaches = {label: runs.reach(results, label) for label in runs.MARKED}
    counts = list(runs.MARKED.values())
    falls = [
        -slope(counts, [reaches[label][seed] for label in runs.MARKED])
        for seed in runs.learned(results, *runs.MARKED)
    ]
    few, many = min(counts), max(counts)
    effect = f"power of k with which reach falls from k = {few} to {many}, all learned in range"
    found = [Finding(effect, estimate(falls), runs.SMALLEST_SLOPE)]
    for fewer, more in pairwise(runs.MARKED):
        both = runs.learned(results, fewer, more)
        ratio = paired_ratio(
            {seed: reaches[fewer][seed] for seed in both},
            {seed: reaches[more][seed] for seed in both},
        )
        words = f"reach at {runs.LINES[fewer].title} / {runs.LINES[more].title}"
        found.append(Finding(f"{words}, both learned in range", ratio, 1.0, decides=False))
    return found


FALLS = Claim(
    name="role-of-sparsity/falls-with-k",
    sentence="Reach falls as the number k of tokens that an answer depends on rises.",
    source=f"{ARXIV}, sparse dependence; sparse parity and all sizes are ours",
    experiment=MARKED_BITS,
    evidence=evidence,
    place=30,
)

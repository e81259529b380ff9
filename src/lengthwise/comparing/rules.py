"""The rules of a comparison, in words: they stand on the page."""

from lengthwise.comparing.readings import SMALLEST, SURE
from lengthwise.comparing.scores import FIXED, RELATIVE
from lengthwise.comparing.study import Study
from lengthwise.comparing.work import PART_ON_THE_WAY, POINTS


def rules(study: Study) -> list[str]:
    """What is done with every remedy alike, a sentence or two each."""
    rates = ", ".join(f"{rate:g}" for rate in study.rates)
    return [
        "A cell is a remedy on a task at one learning rate and seed, and a function of its recipe. "
        "Models of a seed see the same inputs in the same order and begin with the same weights "
        "where they have them in common, so remedies are compared seed by seed.",
        f"Every remedy and the baseline ({study.baseline.name}) have the same learning rates "
        f"({rates}), steps and batches. The rate of a seed is the one that has the best mean score "
        "at the training length over the other seeds; nothing longer is looked at.",
        "The score is exact match where an answer is written and must end by itself, accuracy "
        "where answers stand alone, and 1 - TVD where several answers are right.",
        "A model counts as having learned a task if its score at the training length reaches the "
        "task's gate. How many do is told beside; scores by length are of those.",
        f"The break length is where the score falls below {RELATIVE:g} of what the model has at "
        f"the training length (second rule: below {FIXED:g}), with the score taken to fall evenly "
        "over the logarithm of the length between two tests. A model that never breaks counts with "
        "the longest test, so reach is at most that.",
        "Reach is the geometric mean over tasks of break length over training length; a model that "
        "did not learn counts as 1. Tasks that nothing learned, or on which not all "
        "remedies are done, are left out. Intervals are Student's t over seeds, 95 %.",
        "Helps and harms: the ratio of reach to the baseline's, paired by seed, differs from 1 by "
        f"a factor of at least {SMALLEST:g}, with a p-value below {SURE:g} after Holm's correction "
        "for the number of remedies; at least three seeds are needed. Where all seeds agree "
        "exactly the interval is a point: that says that these seeds agree, and no more.",
        "A rank is a range: the places that paired differences between all remedies, corrected for "
        "their number, do not rule out.",
        "Cost is the time of a training step over the baseline's, both timed in turn in the same "
        "process; the median of a few steps per task, the mean over tasks.",
        f"Scores are kept at {POINTS} points of training, because more training can worsen "
        f"extrapolation; before the last one on 1/{PART_ON_THE_WAY} of the test inputs.",
    ]

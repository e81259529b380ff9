"""Claims on variates: how much a fifth costs, against what, and what a norm does."""

from lengthwise.claims import Claim, Finding, Results, estimate
from lengthwise.claims.readings import SMALLEST_FACTOR, paired_ratio
from lengthwise.papers.itransformer import ARXIV
from lengthwise.papers.itransformer.variates import plan as runs
from lengthwise.papers.itransformer.variates import readings as read
from lengthwise.papers.itransformer.variates.section import VARIATES

CLOSE = 0.05
"""The published rises are up to about 0.05 of series whose variance is 1, as ours nearly is."""

SMALLEST_RISE = 0.005
"""A tenth of that would not matter. Ours."""


def _paired(above: dict[int, float], below: dict[int, float]) -> list[float]:
    return [above[seed] - below[seed] for seed in sorted(above.keys() & below.keys())]


def stays_close(results: Results) -> list[Finding]:
    """By how much the rise stays below the bar; of the others it is shown."""
    return [
        Finding(
            f"{CLOSE} minus the rise of the MSE on all variates, trained on a fifth, {made.title}",
            estimate([CLOSE - one for one in read.rise(results, variant).values()]),
            0.0,
            decides=variant == runs.INVERTED,
        )
        for variant, made in runs.VARIANTS.items()
    ]


def less_than_alone(results: Results) -> list[Finding]:
    """The rise of one model beside that of the other."""
    rises = _paired(read.rise(results, runs.ALONE), read.rise(results, runs.INVERTED))
    return [
        Finding(
            "rise of the MSE on all variates if trained on a fifth, channel by channel minus "
            "inverted",
            estimate(rises),
            SMALLEST_RISE,
        )
    ]


def attention_helps(results: Results) -> list[Finding]:
    """Loss without attention between variates over that with it, for every training."""
    return [
        Finding(
            f"MSE on all variates, trained on {words}, channel by channel / inverted",
            paired_ratio(
                read.on_all(results, runs.ALONE, trained),
                read.on_all(results, runs.INVERTED, trained),
            ),
            SMALLEST_FACTOR,
            decides=trained == runs.FIFTH,
        )
        for trained, words in runs.TRAINED.items()
    ]


def unseen_not_more(results: Results) -> list[Finding]:
    """The two parts of the rise: more variates, and unseen ones."""
    more = read.rise(results, runs.INVERTED, runs.FEW, runs.ALL)
    unseen = read.rise(results, runs.INVERTED, runs.FIFTH, runs.FEW)
    return [
        Finding(
            "part of the rise that unseen variates cost minus that of more variates",
            estimate(_paired(unseen, more)),
            SMALLEST_RISE,
        ),
        Finding("part of the rise: unseen variates", estimate(list(unseen.values())), 0.0, False),
        Finding("part of the rise: more variates", estimate(list(more.values())), 0.0, False),
    ]


def norm_helps(results: Results) -> list[Finding]:
    """Loss without the norm over that with it, where there are more variates than in training."""
    return [
        Finding(
            f"MSE on all variates, trained on {words}, without / with LayerNorm after attention",
            paired_ratio(
                read.on_all(results, runs.INVERTED, trained),
                read.on_all(results, runs.NORM, trained),
            ),
            1.01,
            decides=trained != runs.ALL,
        )
        for trained, words in runs.TRAINED.items()
    ]


STAYS_CLOSE = Claim(
    "itransformer/stays-close",
    "Trained on a fifth of the variates, an iTransformer's loss on all of them stays close to that "
    "of one trained on all.",
    f"{ARXIV}, variate generalization",
    VARIATES, stays_close, place=10,
)  # fmt: skip
LESS_THAN_ALONE = Claim(
    "itransformer/less-than-alone",
    "That rise of the loss is smaller than that of a model which reads channel by channel.",
    f"{ARXIV}, Figure 5; the channel-by-channel model is ours",
    VARIATES, less_than_alone, place=20,
)  # fmt: skip
ATTENTION_HELPS = Claim(
    "itransformer/attention-helps",
    "Attention over variates lowers the loss, even on variates that training never saw.",
    f"{ARXIV}, ablation; on unseen variates ours",
    VARIATES, attention_helps, place=30,
)  # fmt: skip
UNSEEN_NOT_MORE = Claim(
    "itransformer/unseen-not-more",
    "What a fifth of the variates costs is that the others are unseen, not that they are more.",
    f"ours, on {ARXIV}",
    VARIATES, unseen_not_more, place=40,
)  # fmt: skip
NORM_HELPS = Claim(
    "itransformer/norm-helps",
    "LayerNorm after attention lowers the loss where there are more variates than in training.",
    f"ours: the remedy of arXiv 2504.02827 in the model of {ARXIV}",
    VARIATES, norm_helps, place=50,
)  # fmt: skip

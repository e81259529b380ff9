"""No remedy at all, by name: what others are compared with."""

from lengthwise.remedies._base import Remedy, remedy


@remedy("none")
class Nothing(Remedy):
    """The model as it is without any remedy; in a GPT, without positions (NoPE, arXiv 2305.19466).

    A causal GPT of two layers can still tell where tokens stand: the first sees how many there are
    before each. Beyond the training length no position is new, but attention spreads over more keys
    than it ever did. It is not NoPE with a learned temperature per head (arXiv 2404.12224).
    """

    by_multiset = True
    by_query = True

"""No remedy at all, by name: what others are compared with."""

from lengthwise.remedies._base import Remedy, remedy


@remedy("none")
class Nothing(Remedy):
    """The model as it is without any remedy; in a GPT, without positions."""

    by_multiset = True

"""Remedies: what claims to carry a model further in length. One file each, known by name.

A model takes their names: `remedies=("rotary", "scalable", "layernorm:place=before")`. Each is a
module of hooks into the model (`Remedy` has them all), and one of the user's own is given by the
path of its Python file.
"""

from lengthwise.remedies._base import HOOKS, Remedy, remedy
from lengthwise.remedies._keys import Keys, Shape
from lengthwise.remedies.dropout import Dropout

__all__ = ["HOOKS", "Dropout", "Keys", "Remedy", "Shape", "remedy"]

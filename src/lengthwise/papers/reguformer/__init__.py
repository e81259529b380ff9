"""Reguformer: similarity of well intervals with selected queries and keys (arXiv 2212.14246)."""

ARXIV = "arXiv 2212.14246"

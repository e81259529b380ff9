"""Sequence Length is a Domain (arXiv 2109.07276)."""

ARXIV = "arXiv 2109.07276"

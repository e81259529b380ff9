"""Normalized Attention Without Probability Cage (arXiv 2005.09561)."""

ARXIV = "arXiv 2005.09561"

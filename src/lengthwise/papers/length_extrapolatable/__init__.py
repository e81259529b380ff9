"""A Length-Extrapolatable Transformer: xPos and blockwise attention (arXiv 2212.10554)."""

ARXIV = "arXiv 2212.10554"

"""Differential Transformer (arXiv 2410.05258), and its authors' second version of 2026."""

ARXIV = "arXiv 2410.05258"

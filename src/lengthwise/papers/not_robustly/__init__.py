"""Transformers Can Achieve Length Generalization But Not Robustly (arXiv 2402.09371)."""

ARXIV = "arXiv 2402.09371"

"""Attention Bias Calibration (arXiv 2310.11984)."""

ARXIV = "arXiv 2310.11984"

"""Position Coupling (arXiv 2405.20671)."""

ARXIV = "arXiv 2405.20671"

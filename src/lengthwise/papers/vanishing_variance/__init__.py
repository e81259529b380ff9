"""On Vanishing Variance in Transformer Length Generalization (arXiv 2504.02827)."""

ARXIV = "arXiv 2504.02827"

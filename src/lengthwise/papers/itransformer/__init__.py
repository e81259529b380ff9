"""iTransformer, which reads series as tokens (arXiv 2310.06625)."""

ARXIV = "arXiv 2310.06625"

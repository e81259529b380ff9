"""The Role of Sparsity for Length Generalization: predictive position coupling (2502.16792)."""

ARXIV = "arXiv 2502.16792"

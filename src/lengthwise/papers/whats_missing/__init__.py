"""Learning What's Missing (arXiv 2510.08341; v2: Post-Norm can Resharpen Attention)."""

ARXIV = "arXiv 2510.08341"
V1, V2 = f"{ARXIV}v1", f"{ARXIV}v2"

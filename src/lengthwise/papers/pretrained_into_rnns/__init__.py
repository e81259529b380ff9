"""Finetuning Pretrained Transformers into RNNs: T2R (arXiv 2103.13076)."""

ARXIV = "arXiv 2103.13076"

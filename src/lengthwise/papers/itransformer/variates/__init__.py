"""Trained on a fifth of the variates, tested on all of them."""

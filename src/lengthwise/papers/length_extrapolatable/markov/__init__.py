"""Positions beyond the training length, with all keys and blockwise, on a Markov source."""

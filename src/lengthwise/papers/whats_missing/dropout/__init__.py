"""Dropout on set complement, where the search did not look: long training, wide models."""

"""Successor and addition with calibrated biases, padded and unpadded."""

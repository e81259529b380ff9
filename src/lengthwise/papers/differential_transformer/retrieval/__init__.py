"""Differential attention against softmax in set readers of the same size."""

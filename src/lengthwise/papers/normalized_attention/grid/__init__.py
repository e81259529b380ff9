"""The mode of a string, over a grid of widths and learning rates."""

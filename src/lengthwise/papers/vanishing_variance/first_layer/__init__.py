"""The first attention layer of a trained language model."""

"""Sparse parity: how far it carries by the number of bits that an answer depends on."""

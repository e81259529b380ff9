"""Proposition 1 on random populations: nothing is trained."""

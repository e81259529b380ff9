"""Theorem 4.2: models that are written down, and their worst cases."""

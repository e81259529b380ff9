"""Experiment: formal languages, regular and counting, with and without positions."""

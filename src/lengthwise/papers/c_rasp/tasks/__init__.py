"""Experiment: tasks of copying, counting, sorting and adding, with and without positions."""

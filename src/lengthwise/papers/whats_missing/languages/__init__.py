"""Experiment: formal languages with several legal next tokens."""

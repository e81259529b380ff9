"""Intervals of wells with parts blanked, and of other lengths."""

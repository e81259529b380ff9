"""Measures: numbers per example and length, and their means over all lengths of a task."""

from lengthwise.measures.by_length import Reading, measure_by_length
from lengthwise.measures.distribution import MEASURES

__all__ = ["MEASURES", "Reading", "measure_by_length"]

"""Measures: numbers per example and length, and their means over all lengths of a task."""

from lengthwise.measures.by_length import Reading, measure_by_length
from lengthwise.measures.distribution import MEASURES
from lengthwise.measures.retrieval import measure_retrieval

__all__ = ["MEASURES", "Reading", "measure_by_length", "measure_retrieval"]

"""The probe: what attention does inside any Hugging Face model as the input grows."""

from lengthwise.probing.observer import Observation, Output, observing
from lengthwise.probing.run import Progress, probe
from lengthwise.probing.table import ProbeTable

__all__ = ["Observation", "Output", "ProbeTable", "Progress", "observing", "probe"]

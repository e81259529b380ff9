"""The experiment behind the claims about remedies on set complement."""

from lengthwise.claims import Experiment
from lengthwise.papers.whats_missing import pictures, readings

REMEDIES = Experiment("set-complement-remedies", readings.plan, pictures.section)

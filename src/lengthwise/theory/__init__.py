"""Theory one can run: theorems as models, as checks and as exact certificates."""

from lengthwise.theory.certificate import Certificate, certify
from lengthwise.theory.constructions import (
    balanced_model,
    minimal_model,
    model_with_tables,
    unbalanced_model,
)
from lengthwise.theory.dispersion import attention_bounds, spread_bound, weight_bounds
from lengthwise.theory.illegal_mass import MeasuredMass, measure_illegal_mass
from lengthwise.theory.population import Moments, Population, moments
from lengthwise.theory.structure import Fit, Structure, fit_structure
from lengthwise.theory.tables import Tables, read_tables

__all__ = [
    "Certificate",
    "Fit",
    "MeasuredMass",
    "Moments",
    "Population",
    "Structure",
    "Tables",
    "attention_bounds",
    "balanced_model",
    "certify",
    "fit_structure",
    "measure_illegal_mass",
    "minimal_model",
    "model_with_tables",
    "moments",
    "read_tables",
    "spread_bound",
    "unbalanced_model",
    "weight_bounds",
]

"""Remedies on set complement: where a small transformer breaks, and what mends it."""

"""Coupled positions against random start and none, on addition."""

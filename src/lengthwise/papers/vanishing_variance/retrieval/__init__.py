"""Argmax retrieval and dictionary lookup, by models that read sets."""

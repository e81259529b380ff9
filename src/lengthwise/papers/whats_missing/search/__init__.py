"""A random search of small transformers on set complement."""

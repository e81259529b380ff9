"""Converted models and such from scratch on a source with a memory."""

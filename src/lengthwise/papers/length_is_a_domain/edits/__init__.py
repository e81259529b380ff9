"""String edits in a band of lengths: shorter and longer ones, and joined ones."""

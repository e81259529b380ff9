"""Addition with FIRE, randomized positions, reversed digits and index hints."""

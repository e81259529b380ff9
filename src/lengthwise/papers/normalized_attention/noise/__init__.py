"""What standardized scores do with noise: nothing is trained."""

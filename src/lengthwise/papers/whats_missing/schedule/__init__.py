"""What averages are worth where the learning rate falls by itself."""

"""What lambda should be, by computation alone: noise that two maps have in common."""

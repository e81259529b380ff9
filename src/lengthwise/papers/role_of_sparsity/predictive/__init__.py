"""Position ids that the model predicts, against those that the task gives."""

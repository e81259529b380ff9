import hypothesis
import torch

# One thread: at the sizes of the tests a second one only slows them down.
torch.set_num_threads(1)

hypothesis.settings.register_profile(
    "project", deadline=None, derandomize=True, max_examples=30, print_blob=True
)
hypothesis.settings.load_profile("project")

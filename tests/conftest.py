import os
import signal
import tempfile
from collections.abc import Iterator

import hypothesis
import pytest
import torch

# One thread: at the sizes of the tests a second one only slows them down.
torch.set_num_threads(1)

# In the background of a shell Ctrl-C is ignored, and so it would be by every command that a test
# starts and stops.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile(
    "project", deadline=None, derandomize=True, max_examples=30, print_blob=True
)
# `make test-slow` takes this one: other examples every time, and more of them.
hypothesis.settings.register_profile(
    "random", deadline=None, derandomize=False, max_examples=300, print_blob=True
)
hypothesis.settings.load_profile(os.environ.get("LENGTHWISE_HYPOTHESIS", "project"))


_STATE = tempfile.TemporaryDirectory(prefix="lengthwise-state-")
# Files that tests run leave no trace in the home of whoever runs the tests. Some are run already
# while tests are collected, which is before any fixture.
os.environ["XDG_STATE_HOME"] = _STATE.name


@pytest.fixture(autouse=True)
def torch_is_left_as_it_was() -> Iterator[None]:
    """A test that switches something of torch's for the whole process would spoil the next one."""
    before = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype()
    yield
    after = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype()
    torch.set_grad_enabled(True)
    assert after == before, "gradients, inference mode and default dtype must be as before"

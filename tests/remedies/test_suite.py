"""The suite of remedies finds what is wrong with a remedy."""

from pathlib import Path

import pytest
import torch

from lengthwise.errors import InputError
from lengthwise.testing import RemedyConformance

HEAD = '''
import torch
from torch import nn
from lengthwise.remedies import Remedy, remedy

@remedy("broken")
class Broken(Remedy):
    """Something is wrong with it."""
'''

SUITE = RemedyConformance()

BROKEN = {
    "reads later tokens": (
        "def output(self, output): return output + output.mean(-2, keepdim=True)",
        lambda chain: SUITE.test_no_token_depends_on_later_ones(chain, training=False),
    ),
    "reads padding": (
        "def output(self, output): return output + output.mean(-2, keepdim=True)",
        lambda chain: SUITE.test_a_hidden_key_changes_nothing(chain, causal=False),
    ),
    "reads other sequences": (
        "def output(self, output): return output - output.mean(0, keepdim=True)",
        SUITE.test_the_order_of_a_batch_does_not_matter,
    ),
    "says that equal keys may be read once": (
        "by_multiset = True\n"
        "    def scores(self, scores, read): return scores - scores.mean(-1, keepdim=True) ** 2"
        " - torch.arange(scores.shape[-1])",
        SUITE.test_equal_keys_may_be_read_once,
    ),
    "says so, and is read on the short way": (
        "by_multiset = True\n"
        "    def scores(self, scores, read): return scores - torch.arange(scores.shape[-1])",
        lambda chain: SUITE.test_the_minimal_transformer_reads_it_alike_on_all_paths(chain, False),
    ),
    "weights are no probabilities": (
        "def weights(self, scores, read): return 2 * (scores + read.log_count).softmax(-1)",
        SUITE.test_weights_are_probabilities_iff_it_says_so,
    ),
    "says that they are none": (
        "stochastic = False\n"
        "    def weights(self, scores, read): return (scores + read.log_count).softmax(-1)",
        SUITE.test_weights_are_probabilities_iff_it_says_so,
    ),
    "weights hidden keys": (
        "def weights(self, scores, read): return scores.softmax(-1)",
        SUITE.test_weights_are_probabilities_iff_it_says_so,
    ),
    "a kernel mixes something else": (
        "def weights(self, scores, read): return (scores + read.log_count).softmax(-1)\n"
        "    def by_kernel(self, keys, values, mask): return keys, values.flip(-2), mask",
        SUITE.test_weights_are_probabilities_iff_it_says_so,
    ),
    "gradients are not finite": (
        "def scores(self, scores, read): return scores + (0 * scores).abs().sqrt()",
        lambda chain: SUITE.test_gradients_are_finite(chain, torch.float32),
    ),
    "changes the precision": (
        "def output(self, output): return output * torch.ones(output.shape[-1])",
        lambda chain: SUITE.test_gradients_are_finite(chain, torch.bfloat16),
    ),
    "a parameter does nothing": (
        "def __init__(self, shape):\n"
        "        super().__init__(shape)\n"
        "        self.idle = nn.Parameter(torch.ones(3))",
        SUITE.test_every_parameter_learns,
    ),
    "counts in Python": (
        "calls = 0\n"
        "    def output(self, output):\n"
        "        self.calls += 1\n"
        "        return output * self.calls",
        SUITE.test_all_state_is_in_parameters_and_buffers,
    ),
    "keeps a tensor that is no buffer": (
        "def __init__(self, shape):\n"
        "        super().__init__(shape)\n"
        "        self.table = torch.randn(shape.width)\n"
        "    def output(self, output): return output * self.table",
        SUITE.test_all_state_is_in_parameters_and_buffers,
    ),
    "counts in Python, and a run resumes": (
        "calls = 0\n"
        "    def output(self, output):\n"
        "        self.calls += 1\n"
        "        return output * self.calls",
        SUITE.test_training_resumes_bit_for_bit,
    ),
    "draws from torch's generator": (
        "def output(self, output): return output + torch.rand(output.shape[-1])",
        SUITE.test_alone_is_as_in_a_fleet,
    ),
    "an option without a default": (
        "def __init__(self, shape, width: int): super().__init__(shape)",
        SUITE.test_options_come_from_text,
    ),
    "breaks at longer inputs": (
        "def output(self, output): return output + torch.zeros(12, 1)[: output.shape[-2]]",
        SUITE.test_it_reads_eight_times_the_training_length_or_says_why_not,
    ),
    "gives less than it has positions for": (
        "def output(self, output):\n"
        "        from lengthwise.errors import require\n"
        "        require(output.shape[-2] <= 12, 'length', output.shape[-2], 'at most 12')\n"
        "        return output",
        SUITE.test_it_reads_eight_times_the_training_length_or_says_why_not,
    ),
    "depends on how many tokens there are": (
        "def output(self, output): return output / output.shape[-2]",
        SUITE.test_it_reads_eight_times_the_training_length_or_says_why_not,
    ),
    "gradients are not finite where keys are hidden": (
        "def weights(self, scores, read):\n"
        "        seen = (scores + read.log_count).exp()\n"
        "        return seen / (seen.sum(-1, keepdim=True) - seen.amax(-1, keepdim=True))",
        lambda chain: SUITE.test_gradients_are_finite(chain, torch.float32),
    ),
    "overflows where scores are large": (
        "def weights(self, scores, read):\n"
        "        seen = (scores.float() + read.log_count).exp()\n"
        "        return (seen / seen.sum(-1, keepdim=True)).to(scores.dtype)",
        lambda chain: SUITE.test_gradients_are_finite(chain, torch.float32),
    ),
    "cannot run where products are of bfloat16": (
        "def output(self, output): return torch.matmul(output, torch.eye(16).to(output)) * (\n"
        "        torch.inf if output.dtype is torch.bfloat16 else 1)",
        SUITE.test_gradients_are_finite_where_a_run_multiplies_in_bfloat16,
    ),
    "keeps a buffer out of checkpoints": (
        "def __init__(self, shape):\n"
        "        super().__init__(shape)\n"
        "        self.register_buffer('table', torch.randn(shape.width), persistent=False)\n"
        "    def output(self, output): return output * self.table",
        SUITE.test_all_state_is_in_parameters_and_buffers,
    ),
    "remembers the last pass": (
        "def output(self, output):\n        self.last = output.detach()\n        return output",
        SUITE.test_all_state_is_in_parameters_and_buffers,
    ),
    "entropies are measured of what is no probability": (
        "def weights(self, scores, read): return -(scores + read.log_count).softmax(-1)",
        SUITE.test_measures_of_entropy_are_of_probabilities_only,
    ),
    "depends on the order of a set": (
        "def queries_keys(self, queries, keys, read): return queries, keys - keys.flip(-2)",
        lambda chain: SUITE.test_a_set_reader_reads_it_alike_on_all_paths(chain, 7),
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_wrong_is_found(what: str, tmp_path: Path) -> None:
    body, check = BROKEN[what]
    path = tmp_path / "broken.py"
    path.write_text(f"{HEAD}\n    {body}\n", encoding="utf-8")
    with pytest.raises((AssertionError, InputError, RuntimeError, TypeError)):
        check((str(path),))

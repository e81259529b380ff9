"""Remedies: the parts that go into a slot of attention or training.

| slot        | signature                                       | what it does                    |
|-------------|-------------------------------------------------|---------------------------------|
| `positions` | `(queries, keys, query_ids, key_ids) -> (q, k)` | shapes both by their positions  |
| `score`     | `(queries, keys, count) -> scores`              | compares queries with keys      |
| `weigh`     | `(scores, visible) -> weights`                  | turns scores into weights       |
| `norm`      | `(output) -> output`                            | treats the attention output     |
| `dropout`   | `(values) -> values`                            | hides some of them in training  |
"""

from lengthwise.remedies.dropout import Dropout
from lengthwise.remedies.norms import NORMS
from lengthwise.remedies.scores import SCORES
from lengthwise.remedies.weights import WEIGHINGS, Softmax

__all__ = ["NORMS", "SCORES", "WEIGHINGS", "Dropout", "Softmax"]

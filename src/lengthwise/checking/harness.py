"""Results of lm-evaluation-harness by length, to stand beside ours.

Its tasks over several lengths, such as RULER's, name a metric after each length, as in
`"4096,none": 0.98`, and write -1 where a length had no samples.
"""

import json
import re
from pathlib import Path

import polars

from lengthwise.errors import InputError
from lengthwise.files import read_text

EXPECTED = "a results file of lm-evaluation-harness with metrics by length, such as '4096,none'"


def read_results(path: Path) -> polars.DataFrame:
    """Columns: `task`, `length`, `score`; a length without samples is left out.

    Raises:
        InputError: If it cannot be read or holds nothing by length.
    """
    try:
        results = json.loads(read_text(path))["results"]
        rows = [
            (task, int(found[1]), float(value))
            for task, metrics in results.items()
            for metric, value in metrics.items()
            if (found := re.fullmatch(r"(\d+),\w+", metric)) and value != -1
        ]
    except OSError as error:
        raise InputError(f"import = {str(path)!r}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"import = {str(path)!r}: expected {EXPECTED}") from None
    if not rows:
        raise InputError(f"import = {str(path)!r}: holds nothing by length; expected {EXPECTED}")
    schema = {"task": polars.String, "length": polars.Int64, "score": polars.Float64}
    return polars.DataFrame(rows, schema=schema, orient="row").sort("task", "length")

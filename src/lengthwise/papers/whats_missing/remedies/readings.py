"""What the claims about remedies read out of the tables of runs."""

import polars

from lengthwise.claims import Results
from lengthwise.claims.readings import alive, by_seed, weights_in_words


def curves(results: Results, run: str, measure: str, kind: str = "raw") -> polars.DataFrame:
    """One measure by seed and length, in a column each, with weights such as "BEMA 0.5 0.2"."""
    table = alive(results.tables[run], measure).filter(weights_in_words() == kind)
    return table.select("seed", "length", "value").sort("seed", "length")


def beyond(results: Results, run: str, kind: str = "raw") -> dict[int, float]:
    """Mean TVD over all lengths beyond the training length, by seed."""
    longest = results.recipe.max_train_length
    return by_seed(curves(results, run, "tvd", kind).filter(polars.col("length") > longest))

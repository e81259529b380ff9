"""What all claims on calibrated biases rest on."""

from collections.abc import Callable

from lengthwise.claims import Finding, Results
from lengthwise.claims import arms as read
from lengthwise.papers.attention_bias_calibration.numbers import plan as runs


def beyond(results: Results, label: str) -> dict[int, float]:
    """The mean share of right answers over all measured lengths beyond training, by seed."""
    trained = results.recipe.max_train_length
    return read.between(results, label, runs.MEASURE, trained + 1, results.recipe.test_lengths[-1])


def learned(results: Results, form: runs.Form) -> list[int]:
    """The seeds at which the plain model, which biases are made of, learned its lengths."""
    plain, trained = runs.label_of(form, runs.PLAIN), results.recipe.max_train_length
    return read.learned(results, (plain,), runs.MEASURE, trained, runs.LEAST)


def evidence(form: runs.Form) -> Callable[[Results], list[Finding]]:
    """Calibrated biases against all other arms beyond the training length; then by themselves."""

    def found(results: Results) -> list[Finding]:
        seeds = learned(results, form)
        ours = beyond(results, runs.label_of(form, runs.CALIBRATED))
        trained, last = results.recipe.max_train_length, results.recipe.test_lengths[-1]
        where = f"from {trained + 1} to {last} digits"
        findings = [
            read.gain(
                f"share of right answers {where}, calibrated - {runs.LINES[other].title}",
                ours, beyond(results, runs.label_of(form, other)), seeds, runs.SMALLEST,
            )
            for other in (runs.PLAIN, runs.RANDOM, runs.LEARNED)
        ]  # fmt: skip
        for length in (trained, last):
            right = read.between(
                results, runs.label_of(form, runs.CALIBRATED), runs.MEASURE, length, length
            )
            effect = f"share of right answers at {length} digits, calibrated"
            nothing = dict.fromkeys(right, 0.0)
            findings.append(read.gain(effect, right, nothing, seeds, runs.LEAST, decides=False))
        return findings

    return found

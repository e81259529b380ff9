"""Compiled code for processors, and how it is compiled.

Numba notices that a cached function is stale by its own file only; what it calls must live there.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numpy import float64, int32, int64, uint32, uint64
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(
    function: Function, *, in_any_order: bool = False, rounded_once: bool = False
) -> Function:
    """Compile at the first call and keep the result on disk, if there is a place for it.

    Args:
        function: What to compile. A division by 0 gives infinity, as in NumPy.
        in_any_order: Whether sums may be taken in any order, which lets a processor add many
            numbers at once.
        rounded_once: Whether a product and the sum that it goes into may be rounded as one, which
            processors do faster and more precisely; `in_any_order` includes it.
    """
    allowed = {"contract"} if rounded_once else set()
    if in_any_order:
        allowed = {"reassoc", "contract", "nsz"}
    options: dict[str, Any] = {"nogil": True, "fastmath": allowed or False, "error_model": "numpy"}
    try:
        return cast(Function, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # neither the package's folder nor the user's cache can be written to
        return cast(Function, numba.njit(**options)(function))


@compiled
def drop(
    values: NDArray[Any],
    keys: NDArray[int64],
    rates: NDArray[float64],
    scales: NDArray[Any],
    dropped: NDArray[Any],
) -> None:
    """Make row i of `dropped` from that of `values`: times `scales[i]`, or at `rates[i]` times 0.

    Which ones is decided by the numbers of stream `keys[i]`, as `lengthwise.randomness.bits` gives
    them; here it takes one pass over memory, there fifteen.
    """
    for row in range(len(keys)):
        threshold, scale = int32(rates[row] * 2**32 - 2**31), scales[row]
        key = uint64(keys[row])
        key = (key ^ (key >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
        key = (key ^ (key >> uint64(27))) * uint64(0x94D049BB133111EB)
        key ^= key >> uint64(31)
        low, high = uint32(key), uint32(key >> uint64(32))
        for place in range(values.shape[1]):
            # Without the casts Numba would go on in 64 bits, half as many to a register.
            word = uint32(place) ^ low
            word = uint32((word ^ (word >> uint32(16))) * uint32(0x7FEB352D))
            word = uint32((word ^ (word >> uint32(15))) * uint32(0x846CA68B))
            word = uint32((word ^ (word >> uint32(16))) + high)
            kept = scale if int32(word) >= threshold else scale * 0
            dropped[row, place] = values[row, place] * kept

"""How a fleet runs what `vmap` cannot follow: functions of rows take one more axis in front."""

from typing import Any


def models_first(size: int, in_dims: tuple[Any, ...], inputs: tuple[Any, ...]) -> list[Any]:
    """The inputs of a function of rows, for all models at once.

    Args:
        size: Number of models.
        in_dims: Where the models' axis of each input is, or None.
        inputs: Tensors of one shape, then one that broadcasts to them, then an option.

    Returns:
        The same with the models' axis in front; what models share and what only broadcasts stays
        without it.
    """
    *tensors, shared, option = inputs
    *dims, dim_of_shared, _ = in_dims
    moved = [
        one.expand(size, *one.shape) if dim is None else one.movedim(dim, 0)
        for one, dim in zip(tensors, dims, strict=True)
    ]
    if dim_of_shared is not None:
        shared = shared.movedim(dim_of_shared, 0)
        missing = moved[0].dim() - shared.dim()
        shared = shared.reshape(size, *[1] * missing, *shared.shape[1:])
    return [*moved, shared, option]

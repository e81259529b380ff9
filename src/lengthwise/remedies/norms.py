"""What can stand in attention's `norm` slot."""

from torch import nn


def layer_norm(width: int) -> nn.Module:
    """Mean 0 and variance 1 per position, then a learned scale and shift (arXiv 2504.02827)."""
    return nn.LayerNorm(width)


def standardization(width: int) -> nn.Module:
    """LayerNorm without the learned scale and shift: the ablation of arXiv 2504.02827."""
    return nn.LayerNorm(width, elementwise_affine=False)


def rms_norm(width: int) -> nn.Module:
    """Root mean square 1 per position, then a learned scale; the mean is kept."""
    return nn.RMSNorm(width, eps=1e-5)


def no_norm(width: int) -> nn.Module:
    """Nothing: the attention output as it is."""
    return nn.Identity()


NORMS = {
    "none": no_norm,
    "layernorm": layer_norm,
    "standardization": standardization,
    "rmsnorm": rms_norm,
}

"""K models of one shape as one: stacked weights, one forward pass."""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from lengthwise.errors import InputError, require
from lengthwise.remedies import Dropout
from lengthwise.tasks import Inputs, Question


class Fleet:
    """K models of one shape, side by side on one device.

    The models are ordinary modules and are not changed; any module works whose forward pass `vmap`
    can follow. All weights live in one tensor, `weights` of shape (models, parameters per model):
    an optimizer step or an average of the whole fleet is then a handful of operations on one
    tensor, whatever the number of layers.
    """

    def __init__(
        self,
        models: Sequence[nn.Module],
        device: torch.device | str = "cpu",
        *,
        autocast: torch.dtype | None = None,
        compiled: bool = False,
    ) -> None:
        """Stack `models`, which must have the same parameters in the same shapes.

        Args:
            models: What to stack.
            device: Where to put it.
            autocast: Precision of the matrix products of training passes, such as `torch.bfloat16`,
                where it is not that of the weights.
            compiled: Whether training passes go through `torch.compile`.
        """
        require(len(models) > 0, "models", list(models), "at least one model")
        _require_same_shapes(models)
        parameters, buffers = stack_module_state(list(models))
        self.size = len(models)
        self.shapes = {name: stacked.shape[1:] for name, stacked in parameters.items()}
        """Shape of each parameter in one model, in the order in which `weights` holds them."""
        self.undecayed = frozenset(getattr(models[0], "undecayed", ()))
        """Matrices that weight decay leaves alone, which a model may name in `undecayed`."""
        flat = torch.cat(
            [stacked.detach().reshape(len(models), -1) for stacked in parameters.values()], dim=1
        )
        self.weights = flat.to(device)
        self.buffers = {name: stacked.to(device) for name, stacked in buffers.items()}
        # The template gives the code of the forward pass; its own weights are never used.
        self._template = copy.deepcopy(models[0]).to("meta")
        _activate_dropouts(self._template, models)
        self._autocast = autocast
        self._train = torch.compile(self._call, dynamic=False) if compiled else self._call
        # Leaves of the autograd graph that share memory with `weights`.
        self._leaves = {name: leaf.requires_grad_() for name, leaf in self.views().items()}
        self._gradient = torch.empty_like(self.weights)
        self._gradients = list(self.views(self._gradient).values())

    @property
    def device(self) -> torch.device:
        """Where the fleet lives."""
        return self.weights.device

    def views(self, weights: Tensor | None = None) -> dict[str, Tensor]:
        """The parameters by name, stacked: views of `weights` (default: the fleet's own)."""
        weights = self.weights if weights is None else weights
        pieces = weights.detach().split([shape.numel() for shape in self.shapes.values()], dim=1)
        return {
            name: piece.unflatten(1, shape) if shape else piece.squeeze(1)
            for (name, shape), piece in zip(self.shapes.items(), pieces, strict=True)
        }

    def forward(self, inputs: Inputs, *, shared_inputs: bool = False) -> Tensor:
        """A training pass with gradients: `(models, ...)` in, `(models, ...)` out."""
        self._template.train()
        kind, dtype = self.device.type, self._autocast
        with torch.autocast(kind, dtype, enabled=dtype is not None):
            outputs = self._train(self._leaves, inputs, shared_inputs)
        return outputs.to(self.weights.dtype)

    @torch.no_grad()
    def predict(
        self, inputs: Inputs, weights: Tensor | None = None, *, shared_inputs: bool = True
    ) -> Tensor:
        """A pass without gradients or dropout, with the fleet's own or other `weights`.

        Args:
            inputs: One batch for all models, or with `shared_inputs=False` one batch per model.
            weights: `(models, parameters per model)`, such as an average.
            shared_inputs: Whether every model reads the same inputs.
        """
        self._template.eval()
        return self._call(self.views(weights), inputs, shared_inputs)

    def gradient(self, loss: Tensor, *, add: bool = False) -> Tensor:
        """The gradient of every model's own loss, in the layout of `weights`.

        It is the fleet's own tensor, which the next call overwrites, or adds to with `add`: a new
        one of the size of all weights would cost a tenth of a large model's step.
        """
        gradients = torch.autograd.grad(loss.sum(), list(self._leaves.values()))
        (torch._foreach_add_ if add else torch._foreach_copy_)(self._gradients, gradients)
        return self._gradient

    def model(self, index: int, weights: Tensor | None = None) -> nn.Module:
        """Model number `index` as a plain module of its own."""
        model = copy.deepcopy(self._template).to_empty(device=self.device)
        state = {name: stacked[index] for name, stacked in self.views(weights).items()}
        state |= {name: stacked[index] for name, stacked in self.buffers.items()}
        with torch.no_grad():
            for name, tensor in (*model.named_parameters(), *model.named_buffers()):
                tensor.copy_(state[name])
        for module in model.modules():
            if isinstance(module, Dropout):
                module.active = bool(module.rate > 0)
        return model.eval()

    def _call(self, parameters: dict[str, Tensor], inputs: Inputs, shared: bool) -> Tensor:
        def one(parameters: dict[str, Tensor], buffers: dict[str, Tensor], inputs: Inputs) -> Any:
            return functional_call(self._template, (parameters, buffers), (inputs,))

        if self.size == 1 and not isinstance(inputs, Question):
            # The same without the cost of `vmap`, which is a tenth of a GPT's step.
            # `squeeze`, because the gradient of `stacked[0]` is a copy.
            own = {name: stacked.squeeze(0) for name, stacked in parameters.items()}
            buffers = {name: stacked.squeeze(0) for name, stacked in self.buffers.items()}
            only: Tensor = one(own, buffers, inputs if shared else inputs[0])
            return only.unsqueeze(0)
        outputs: Tensor = vmap(one, in_dims=(0, 0, None if shared else 0))(
            parameters, self.buffers, inputs
        )
        return outputs


def _activate_dropouts(template: nn.Module, models: Sequence[nn.Module]) -> None:
    """A dropout runs for all as soon as one model has a rate; a rate of 0 hides nothing."""
    for name, module in template.named_modules():
        if isinstance(module, Dropout):
            module.active = any(model.get_submodule(name).active for model in models)


def _require_same_shapes(models: Sequence[nn.Module]) -> None:
    first = {name: tensor.shape for name, tensor in models[0].named_parameters()}
    for index, model in enumerate(models):
        shapes = {name: tensor.shape for name, tensor in model.named_parameters()}
        for name in first.keys() | shapes.keys():
            if first.get(name) != shapes.get(name):
                raise InputError(
                    f"models[{index}]: parameter {name!r} has shape {shapes.get(name)}, "
                    f"expected {first.get(name)} as in models[0]: a fleet has one shape"
                )

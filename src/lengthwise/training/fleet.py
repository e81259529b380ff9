"""K models of one code and one shape as one: stacked weights, one forward pass."""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.utils._pytree import tree_flatten, tree_unflatten

from lengthwise.errors import require
from lengthwise.hyperparameters import Hyperparameters
from lengthwise.remedies import Dropout
from lengthwise.remedies._keys import Places
from lengthwise.tasks import Tokens
from lengthwise.training.alike import require_alike, require_no_generator
from lengthwise.training.traced import Traces, traceable


class Fleet:
    """K models of one code and one shape, side by side on one device.

    The models are ordinary modules and are not changed; any module works whose forward pass `vmap`
    can follow and which draws no random numbers from torch's generator. All weights live in one
    tensor, `weights` of shape (models, parameters per model): an optimizer step or an average of
    the whole fleet is then a handful of operations on one tensor, whatever the number of layers.
    """

    def __init__(
        self,
        models: Sequence[nn.Module],
        hyperparameters: Sequence[Hyperparameters] | None = None,
        device: torch.device | str = "cpu",
        *,
        autocast: torch.dtype | None = None,
        compiled: bool = False,
    ) -> None:
        """Stack `models`, which must be of the same code with parameters of the same shapes.

        Args:
            models: What to stack.
            hyperparameters: What each model trains with (default: `Hyperparameters()`).
            device: Where to put it.
            autocast: Precision of the matrix products of training passes, such as `torch.bfloat16`,
                where it is not that of the weights.
            compiled: Whether training passes go through `torch.compile`.

        Raises:
            InputError: The models differ in code or shape, or draw from torch's generator.
        """
        require(len(models) > 0, "models", list(models), "at least one model")
        if hyperparameters is None:
            hyperparameters = [Hyperparameters()] * len(models)
        expected = f"{len(models)}, one for each model"
        require(len(hyperparameters) == len(models), "hyperparameters", len(hyperparameters),
                expected)  # fmt: skip
        require_alike(models)
        parameters, buffers = stack_module_state(list(models))
        self.size = len(models)
        self.hyperparameters = tuple(hyperparameters)
        """What each model trains with."""
        self.shapes = {name: stacked.shape[1:] for name, stacked in parameters.items()}
        """Shape of each parameter in one model, in the order in which `weights` holds them."""
        self.no_weight_decay = frozenset(getattr(models[0], "no_weight_decay", ()))
        """Matrices that weight decay leaves alone, which a model may name in `no_weight_decay`."""
        flat = torch.cat(
            [stacked.detach().reshape(len(models), -1) for stacked in parameters.values()], dim=1
        )
        self.weights = flat.to(device)
        self.buffers = {name: stacked.to(device) for name, stacked in buffers.items()}
        # The template gives the code of the forward pass; its own weights are never used.
        self.template = _template(models)
        self.by_query = bool(getattr(self.template, "by_query", False)) and not compiled
        """Whether a training pass may be asked at some places alone; compiled ones would be
        compiled anew for others."""
        plain = self.device.type == "cpu" and autocast is None and not compiled
        self._traces = Traces() if plain and traceable(self.template) else None
        self._autocast = autocast
        self._train = torch.compile(self._call, dynamic=False) if compiled else self._call
        named = self.template.named_parameters(remove_duplicate=False)
        self._tied = sum(1 for _ in named) > len(self.shapes)
        # Leaves of the autograd graph that share memory with `weights`.
        self._leaves = {name: leaf.requires_grad_() for name, leaf in self._read().items()}
        self._gradient = torch.empty_like(self.weights)
        self._gradients = list(self._read(self._gradient).values())

    @property
    def device(self) -> torch.device:
        """Where the fleet lives."""
        return self.weights.device

    def views(self, weights: Tensor | None = None) -> dict[str, Tensor]:
        """The parameters by name, stacked: views of `weights` (default: the fleet's own).

        Args:
            weights: `(models, parameters per model)`, such as an average; None is the fleet's own.
        """
        weights = self.weights if weights is None else weights
        pieces = weights.detach().split([shape.numel() for shape in self.shapes.values()], dim=1)
        return {
            name: piece.unflatten(1, shape) if shape else piece.squeeze(1)
            for (name, shape), piece in zip(self.shapes.items(), pieces, strict=True)
        }

    def forward(
        self, inputs: Any, *, shared_inputs: bool = False, asked: Places | None = None
    ) -> Tensor:
        """A training pass with gradients: `(models, ...)` in, `(models, ...)` out.

        Args:
            inputs: One batch per model, or with `shared_inputs` one for all.
            shared_inputs: Whether every model reads the same batch.
            asked: With it, logits at these places alone, which the model must take (`by_query`).

        Raises:
            InputError: A model draws from torch's generator, which could not be repeated.
        """
        if not self.template.training:
            self.template.train()
        dtype = self._autocast
        autocast = torch.autocast(self.device.type, dtype, enabled=dtype is not None)
        with autocast, require_no_generator(self.device):
            outputs = self._train(self._leaves, inputs, shared_inputs, asked)
        return outputs.to(self.weights.dtype)

    @torch.no_grad()
    def predict(
        self,
        inputs: Any,
        weights: Tensor | None = None,
        *,
        shared_inputs: bool = True,
        asked: Places | None = None,
    ) -> Tensor:
        """A pass without gradients or dropout, with the fleet's own or other `weights`.

        Args:
            inputs: One batch for all models, or with `shared_inputs=False` one batch per model.
            weights: `(models, parameters per model)`, such as an average.
            shared_inputs: Whether every model reads the same inputs.
            asked: With it, logits at these places alone, which the model must take (`by_query`).

        Raises:
            InputError: A model draws from torch's generator, which could not be repeated.
        """
        self.template.eval()
        with require_no_generator(self.device):
            return self._call(self._read(weights), inputs, shared_inputs, asked)

    def takes(self, inputs: Any) -> bool:
        """Whether `forward` and `predict` may be asked at some places of these inputs alone.

        Args:
            inputs: What the models would read.
        """
        plain = isinstance(inputs, Tensor) or (isinstance(inputs, Tokens) and inputs.mask is None)
        # A GPU would have to wait until the places are known.
        return self.by_query and plain and self.device.type == "cpu"

    def loss_and_gradient(
        self,
        loss: Callable[..., Tensor],
        inputs: Any,
        *data: Tensor | None,
        asked: Places | None = None,
        add: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The loss of every model, `(models,)`, and its gradient, as `gradient` gives it.

        Args:
            loss: `loss(logits, *data, asked=asked)`, which does the same at every step.
            inputs: One batch per model.
            *data: What else the loss is made of.
            asked: As in `forward`.
            add: Whether to add to the gradient that is there.

        Raises:
            InputError: As `forward` and `gradient`.
        """
        leaves, structure = tree_flatten((inputs, data, asked))
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        held = len(self._leaves), len(self.buffers)

        def one_pass(*given: Tensor) -> list[Tensor]:
            """The same of nothing but tensors: weights, buffers and data."""
            weights = [leaf.detach().requires_grad_() for leaf in given[: held[0]]]
            rest: Iterator[Tensor] = iter(given[sum(held) :])
            filled = [next(rest) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
            own_inputs, own_data, own_asked = tree_unflatten(filled, structure)
            buffers = dict(zip(self.buffers, given[held[0] : sum(held)], strict=True))
            parameters = dict(zip(self._leaves, weights, strict=True))
            logits = self._call(parameters, own_inputs, False, own_asked, buffers)
            losses = loss(logits, *own_data, asked=own_asked)
            return [losses.detach(), *torch.autograd.grad(losses.sum(), weights)]

        trace = None
        if self._traces is not None:
            others = [str(leaf) for leaf in leaves if not isinstance(leaf, Tensor)]
            shapes = [(one.shape, one.stride(), one.dtype) for one in tensors]
            every = [*self._leaves.values(), *self.buffers.values(), *tensors]
            if not self.template.training:
                self.template.train()
            trace = self._traces.find((structure, *others, *shapes), one_pass, every)
        if trace is None:
            losses = loss(self.forward(inputs, asked=asked), *data, asked=asked)
            return losses.detach(), self.gradient(losses, add=add)
        losses, *gradients = trace(*every)
        (torch._foreach_add_ if add else torch._foreach_copy_)(self._gradients, gradients)
        return losses, self._gradient

    def gradient(self, loss: Tensor, *, add: bool = False) -> Tensor:
        """The gradient of every model's own loss, in the layout of `weights`.

        It is the fleet's own tensor, which the next call overwrites, or adds to with `add`: a new
        one of the size of all weights would cost a tenth of a large model's step.

        Args:
            loss: `(models,)`: the loss of each.
            add: Whether to add to the gradient that is there.

        Raises:
            InputError: The loss does not depend on a parameter, which could then not be trained.
        """
        leaves = list(self._leaves.values())
        gradients = torch.autograd.grad(loss.sum(), leaves, allow_unused=True)
        for name, found in zip(self._leaves, gradients, strict=True):
            require(found is not None, "parameter", name, "one that the forward pass makes use of")
        (torch._foreach_add_ if add else torch._foreach_copy_)(self._gradients, gradients)
        return self._gradient

    def model(self, index: int, weights: Tensor | None = None) -> nn.Module:
        """Model number `index` as a plain module of its own, which can be trained on.

        Args:
            index: Which model, from 0.
            weights: `(models, parameters per model)`, such as an average; None is the fleet's own.
        """
        model = _tied_like(self.template, copy.deepcopy(self.template).to_empty(device=self.device))
        state = {name: stacked[index] for name, stacked in self.views(weights).items()}
        state |= {name: stacked[index] for name, stacked in self.buffers.items()}
        with torch.no_grad():
            for name, tensor in (*model.named_parameters(), *model.named_buffers()):
                tensor.copy_(state[name])
        for module in model.modules():
            if hasattr(module, "vmapped"):
                module.vmapped = False  # type: ignore[assignment]
            if isinstance(module, Dropout):
                module.active = bool(module.rate > 0)
        return model.eval()

    def models(self, weights: Tensor | None = None) -> list[nn.Module]:
        """All models as plain modules.

        Args:
            weights: `(models, parameters per model)`, such as an average; None is the fleet's own.
        """
        return [self.model(index, weights) for index in range(self.size)]

    def _read(self, weights: Tensor | None = None) -> dict[str, Tensor]:
        """The views that a pass reads; a model alone has no axis for models."""
        views = self.views(weights)
        return views if self.size > 1 else {name: view.squeeze(0) for name, view in views.items()}

    def _call(
        self,
        parameters: dict[str, Tensor],
        inputs: Any,
        shared: bool,
        asked: Places | None = None,
        buffers: dict[str, Tensor] | None = None,
    ) -> Tensor:
        buffers = self.buffers if buffers is None else buffers
        leaves, structure = tree_flatten(inputs)
        # Only tensors have a place for every model; what is absent (None) is so for all.
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]

        def one(parameters: dict[str, Tensor], buffers: dict[str, Tensor], own: Any) -> Any:
            given: Iterator[Tensor] = iter(own)
            filled = [next(given) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
            rebuilt = tree_unflatten(filled, structure)
            state = (parameters, buffers)
            given_places = {} if asked is None else {"asked": asked}
            # To look for tied weights in every pass takes a hundredth of a small GPT's step.
            return functional_call(
                self.template, state, (rebuilt,), given_places, tie_weights=self._tied
            )

        if self.size == 1:  # the same without the cost of `vmap`, a tenth of a GPT's step
            buffers = {name: stacked.squeeze(0) for name, stacked in buffers.items()}
            own = tensors if shared else [tensor[0] for tensor in tensors]
            only: Tensor = one(parameters, buffers, own)
            return only.unsqueeze(0)
        outputs: Tensor = vmap(one, in_dims=(0, 0, None if shared else 0))(
            parameters, buffers, tensors
        )
        return outputs


def _template(models: Sequence[nn.Module]) -> nn.Module:
    """The code of all models, ready to run them side by side."""
    template = _tied_like(models[0], copy.deepcopy(models[0]).to("meta"))
    for name, module in template.named_modules():
        if isinstance(module, Dropout):
            # It runs for all as soon as one model has a rate; a rate of 0 hides nothing.
            module.active = any(model.get_submodule(name).active for model in models)
        if hasattr(module, "vmapped"):
            module.vmapped = len(models) > 1
    return template


def _tied_like(model: nn.Module, moved: nn.Module) -> nn.Module:
    """A copy on another device with the weights that `model` has under several names tied again.

    Moving a module gives each of its names a tensor of its own.
    """
    kept: dict[Tensor, Tensor] = {}
    for name, weights in model.named_parameters(remove_duplicate=False):
        owner, _, own = name.rpartition(".")
        module = moved.get_submodule(owner)
        setattr(module, own, kept.setdefault(weights, getattr(module, own)))
    return moved

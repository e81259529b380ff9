"""Passes through small models as the flat list of operations that they consist of.

A step of a fleet of small models is a few hundred operations of some microseconds each. To find out
which ones takes longer than to do them: `vmap` and `autograd` ask that anew at every step. A trace
asks once. It does the very same operations on the same numbers, so every bit is the same.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg

Pass = Callable[..., Sequence[Tensor]]
"""A function of tensors. What it does depends on their shapes alone."""

AFTER = 100
"""Passes over the same shapes before they are traced, which takes as long as so many of them."""

MOST = 64
"""Traces that are kept: inputs of more lengths than that are not worth it."""

_ATEN = torch.ops.aten

_VIEWS = (_ATEN.view.default, _ATEN._unsafe_view.default)

_MAY_DO_NOTHING = {
    *_VIEWS,
    _ATEN.alias.default,
    _ATEN.detach.default,
    _ATEN.expand.default,
    _ATEN.permute.default,
}


_DIRECT = {
    _ATEN.add.Tensor: torch.add,
    _ATEN.bmm.default: torch.bmm,
    _ATEN.div.Tensor: torch.div,
    _ATEN.expand.default: Tensor.expand,
    _ATEN.mul.Tensor: torch.mul,
    _ATEN.neg.default: torch.neg,
    _ATEN.permute.default: torch.permute,
    _ATEN.sub.Tensor: torch.sub,
    _ATEN.sum.dim_IntList: torch.sum,
    _ATEN.transpose.int: torch.transpose,
    _ATEN.unsqueeze.default: torch.unsqueeze,
    _ATEN.view.default: Tensor.view,
}
"""The same operations under the names that torch calls in half the time."""


class Traces:
    """Passes that have come often enough to be traced."""

    def __init__(self) -> None:
        """Have none yet."""
        self._seen: dict[Hashable, int] = {}
        self._traces: dict[Hashable, Pass | None] = {}

    def find(self, case: Hashable, function: Pass, tensors: Sequence[Tensor]) -> Pass | None:
        """The trace of a pass, or None if it is to be run as it is.

        Args:
            case: What decides what the pass does, with the shapes of its tensors.
            function: The pass.
            tensors: What it reads, of which a trace may be made.
        """
        if case not in self._traces:
            self._seen[case] = self._seen.get(case, 0) + 1
            if self._seen[case] <= AFTER or len(self._traces) == MOST:
                return None
            self._traces[case] = trace(function, tensors)
        return self._traces[case]


def traceable(model: nn.Module) -> bool:
    """Whether a model's pass depends on nothing but tensors, so that it may be traced.

    It is known of the modules of torch and of this package; others say `traceable = True`.

    Args:
        model: Asked with all of its modules.
    """
    return all(
        getattr(one, "traceable", type(one).__module__.startswith(("lengthwise.", "torch.")))
        for one in model.modules()
    )


def trace(function: Pass, tensors: Sequence[Tensor]) -> Pass | None:
    """The operations of `function` as code without questions, or None if it asks for numbers.

    Args:
        function: What to trace.
        tensors: What it would be called with; they stay as they are.
    """
    given = [one.detach() for one in tensors]
    try:
        graph: GraphModule = make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(
            *given
        )
    except Exception:  # whatever a trace cannot follow can still be run as it is
        return None
    written = {node.op for node in _written(graph)}
    if any(map(_draws, graph.graph.nodes)) or "get_attr" in written:
        return None  # what is written to and no input is a state that the trace would share
    _note_layouts(graph, given)
    _leave_out_what_does_nothing(graph)
    _make_constants_once(graph)
    _do_once(graph)
    for node in graph.graph.nodes:
        node.target = _DIRECT.get(node.target, node.target)
    graph.recompile()
    return torch.no_grad()(graph.forward)


def _draws(node: Node) -> bool:
    """Whether an operation draws random numbers; torch's attention does at a rate above 0."""
    if node.target is _ATEN._scaled_dot_product_flash_attention_for_cpu.default:
        return node.args[3:4] not in ((), (0.0,))
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def _leave_out_what_does_nothing(graph: GraphModule) -> None:
    """Leave out views of a tensor as it is, and views of views."""
    for node in list(graph.graph.nodes):
        if node.op != "call_function" or node.target not in _MAY_DO_NOTHING:
            continue
        seen = node.args[0]
        if node.target is _ATEN.view.default:
            while seen.target in _VIEWS and _seen_alike(seen.args[0], node):
                seen = seen.args[0]
            node.args = (seen, *node.args[1:])
        if seen.meta["layout"] == node.meta["layout"]:
            node.replace_all_uses_with(seen)
            graph.graph.erase_node(node)
    graph.graph.eliminate_dead_code()


def _seen_alike(source: Node, view: Node) -> bool:
    """Whether a view of `source` lies in memory as `view` does, strides of length 1 included.

    The order in which numbers are added up may depend on them.
    """
    shape, strides, *_ = source.meta["layout"]
    tensor = torch.empty_strided(shape, strides, device="meta")
    if not tensor.is_contiguous():
        return False
    return tensor.view(view.meta["layout"].shape).stride() == view.meta["layout"].strides


class Layout(NamedTuple):
    """How a tensor lies in memory."""

    shape: torch.Size
    strides: tuple[int, ...]
    begin: int
    dtype: torch.dtype


def _note_layouts(graph: GraphModule, tensors: Sequence[Tensor]) -> None:
    """Run a graph once to note how every tensor lies in memory.

    A trace knows it as well, but not always the strides of axes of length 1.
    """
    written, given = _written(graph), iter(tensors)
    last = {one: node for node in graph.graph.nodes for one in node.all_input_nodes}
    found: dict[Node, Any] = {}
    with torch.no_grad():
        for node in graph.graph.nodes:
            if node.op == "placeholder":
                found[node] = next(given).clone() if node in written else next(given)
            elif node.op != "output":
                found[node] = _result(graph, node, found)
            if isinstance(found.get(node), Tensor):
                own: Tensor = found[node]
                begin = int(own.storage_offset())
                node.meta["layout"] = Layout(own.shape, own.stride(), begin, own.dtype)
            for one in node.all_input_nodes:
                if last[one] is node:
                    del found[one]


def _result(graph: GraphModule, node: Node, found: Mapping[Node, Any]) -> Any:
    """What an operation or a constant gives; torch's `Interpreter` would leave locks behind."""
    if node.op == "get_attr":
        return getattr(graph, str(node.target))
    assert callable(node.target)
    arguments: Any = map_arg((node.args, node.kwargs), found.__getitem__)
    return node.target(*arguments[0], **arguments[1])


def _make_constants_once(graph: GraphModule) -> None:
    """Put the results of operations that read no input in the place of the operations."""
    written = _written(graph)
    made: dict[Node, Any] = {}
    for node in graph.graph.nodes:
        constant = node.op in ("call_function", "get_attr") and node not in written
        if constant and all(one in made for one in node.all_input_nodes):
            made[node] = _result(graph, node, made)
    for number, (node, value) in enumerate(made.items()):
        if node.op == "call_function" and isinstance(value, Tensor):
            name = f"constant_{number}"
            graph.register_buffer(name, value)
            with graph.graph.inserting_before(node):
                kept = graph.graph.get_attr(name)
            kept.meta = node.meta
            node.replace_all_uses_with(kept)
    graph.graph.eliminate_dead_code()


def _do_once(graph: GraphModule) -> None:
    """Leave out operations that were done before on the same tensors."""
    written = _written(graph)
    done: dict[Hashable, Node] = {}
    for node in list(graph.graph.nodes):
        touched = written.intersection((node, *node.all_input_nodes))
        if node.op not in ("call_function", "get_attr") or touched:
            continue
        key = (node.target, repr((node.args, node.kwargs)))  # names of nodes are unique
        first = done.setdefault(key, node)
        if first is not node:
            node.replace_all_uses_with(first)
            graph.graph.erase_node(node)


def _written(graph: GraphModule) -> set[Node]:
    """Operations that write, and all that may lie where they write."""
    written: set[Node] = set()
    for node in graph.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is not None and schema.is_mutable:
            written.add(node)
            given = zip(schema.arguments, node.args, strict=False)
            todo = [own for one, own in given if one.alias_info and one.alias_info.is_write]
            todo += [own for name, own in node.kwargs.items() if name == "out"]
            while todo:
                own = todo.pop()
                if isinstance(own, (list, tuple)):
                    todo += own
                elif own not in written:
                    written.add(own)
                    todo += own.args[:1] if _may_be_view(own) else []
    for node in graph.graph.nodes:
        if _may_be_view(node) and node.args[0] in written:
            written.add(node)
    return written


def _may_be_view(node: Node) -> bool:
    """Whether what a node gives may lie where its first argument does."""
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], Node):
        return False
    if not isinstance(node.target, torch._ops.OpOverload) or node.target in _VIEWS:
        return True
    return any(one.alias_info is not None for one in node.target._schema.returns)

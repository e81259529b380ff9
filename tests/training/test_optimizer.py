"""The fleet's AdamW against torch's own, one model at a time."""

import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lengthwise.training import Fleet, FleetAdamW, Hyperparameters

STEPS = 12


def reference(model: nn.Module, own: Hyperparameters, inputs: torch.Tensor) -> torch.Tensor:
    """Weights after training with torch.optim, warm-up, cosine and clipping written out."""
    model = copy.deepcopy(model)
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    optimizer = torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": own.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ],
        betas=(own.beta1, own.beta2),
    )
    for step in range(STEPS):
        warm = min(1.0, (step + 1) / own.warmup) if own.warmup else 1.0
        share = (1 + math.cos(math.pi * step / STEPS)) / 2
        part = own.final_lr_fraction + (1 - own.final_lr_fraction) * share
        for group in optimizer.param_groups:
            group["lr"] = own.learning_rate * warm * part
        optimizer.zero_grad()
        model(inputs[step]).square().mean().backward()
        if own.grad_clip:
            gradients = [p.grad for p in model.parameters() if p.grad is not None]
            norm = torch.cat([g.flatten() for g in gradients]).norm()
            for gradient in gradients:
                gradient *= min(1.0, float(own.grad_clip / norm))
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


HYPERPARAMETERS = st.builds(
    Hyperparameters,
    learning_rate=st.floats(1e-4, 0.1),
    weight_decay=st.sampled_from([0.0, 0.1, 1.0]),
    beta1=st.floats(0, 0.95),
    beta2=st.floats(0.5, 0.999),
    grad_clip=st.sampled_from([0.0, 0.01, 1.0, 100.0]),
    warmup=st.integers(0, 8),
    final_lr_fraction=st.floats(0, 1),
)


@settings(max_examples=20)
@given(st.lists(HYPERPARAMETERS, min_size=1, max_size=4))
def test_every_model_gets_the_update_torch_would_give_it(every: list[Hyperparameters]) -> None:
    torch.manual_seed(0)
    models = [nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)).double() for _ in every]
    inputs = torch.randn(STEPS, len(every), 6, 3, dtype=torch.float64)
    fleet = Fleet(models, every)
    optimizer = FleetAdamW(fleet, STEPS)
    for step in range(STEPS):
        loss = fleet.forward(inputs[step]).square().mean((1, 2))
        optimizer.step(step, loss.detach(), fleet.gradient(loss))
    for index, own in enumerate(every):
        expected = reference(models[index], own, inputs[:, index])
        torch.testing.assert_close(fleet.weights[index], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize("cached", [5, 4096])
def test_a_step_in_parts_is_the_same_step(
    models: int, cached: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = [
        Hyperparameters(seed=seed, weight_decay=0.1, grad_clip=0.5, warmup=2)
        for seed in range(models)
    ]
    ends = []
    for size in (1 << 30, cached):
        monkeypatch.setattr("lengthwise.training.optimizer.CACHED", size)
        torch.manual_seed(0)
        fleet = Fleet([nn.Linear(57, 101) for _ in every], every)
        optimizer = FleetAdamW(fleet, steps=10)
        for step in range(5):
            loss = torch.ones(models)
            loss[-1] = torch.nan if step == 4 else 1.0  # the last one diverges
            optimizer.step(step, loss, torch.randn_like(fleet.weights))
        ends.append((fleet.weights, optimizer.first, optimizer.second, optimizer.diverged))
    for whole, parts in zip(*ends, strict=True):
        assert torch.equal(whole, parts)

"""What an average follows in a model, and what it leaves alone."""

import copy
import itertools
import os
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save
from torch import nn

from lengthwise.averaging import BEMA, EMA, AveragingError
from lengthwise.errors import InputError


def small_model() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Linear(8, 2))


def train(model: nn.Module, optimizer: torch.optim.Optimizer, seeds: range):
    """Real optimizer steps on data that depends on the step alone."""
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        x = torch.randn(16, 4, generator=generator).to(next(model.parameters()).dtype)
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        yield seed


def test_averages_follow_real_training():
    model = small_model()
    average = BEMA(model, ema_power=[0.5, 0.9])
    start = {name: p.detach().clone() for name, p in model.named_parameters()}
    ema = copy.deepcopy(start)
    for t in train(model, torch.optim.AdamW(model.parameters(), 0.05), range(1, 20)):
        average.update()
        for name, parameter in model.named_parameters():
            ema[name] += (10 + t) ** -0.9 * (parameter.detach() - ema[name])
    weights = average.weights(ema_power=0.9, bias_power=0.3)
    for name, parameter in model.named_parameters():
        mu = ema[name] + 29**-0.3 * (parameter.detach() - start[name])
        torch.testing.assert_close(weights[name], mu)


def test_frozen_parameters_are_left_alone():
    model = small_model()
    model[0].requires_grad_(False)
    average = BEMA(model)
    assert "0.weight" not in average._emas
    next(train(model, torch.optim.SGD(model[3].parameters(), 0.1), range(1)))
    average.update()
    frozen = model[0].weight.clone()
    with average.applied():
        assert torch.equal(model[0].weight, frozen)
    assert set(average.weights()) == {"1.weight", "1.bias", "3.weight", "3.bias"}


def test_no_trainable_parameter_is_an_error():
    with pytest.raises(InputError, match="no trainable parameter"):
        EMA(small_model().requires_grad_(False))
    with pytest.raises(InputError, match="no trainable parameter"):
        EMA({})


def test_integers_cannot_be_averaged():
    with pytest.raises(InputError, match=r"counts: dtype torch.int64"):
        EMA({"counts": torch.arange(3)})


def test_tied_weights_are_averaged_once():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(5, 3)
            self.head = nn.Linear(3, 5, bias=False)
            self.head.weight = self.embedding.weight

    model = Tied()
    average = EMA(model, decay=0.5)
    before = model.head.weight.detach().clone()
    model.head.weight.data.add_(1)
    average.update()
    assert set(average.weights()) == {"embedding.weight"}
    with average.applied():
        assert model.head.weight is model.embedding.weight
        torch.testing.assert_close(model.head.weight, before + 0.5, check_dtype=False)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("powers", [0.9, [0.9, 0.5]])
def test_low_precision_weights_have_a_float32_average(dtype, powers):
    """A bfloat16 EMA of weight 1e-3 would stand still; ours reaches its limit."""
    weight = nn.Parameter(torch.ones(3, dtype=dtype))
    average = EMA({"weight": weight}, powers, min_weight=1e-3, multiplier=1e6)
    weight.data.fill_(2)
    for _ in range(1000):
        average.update()
    expected = 2 - (1 - 1e-3) ** 1000
    ours = average.weights(ema_power=0.9)["weight"]
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours, torch.full((3,), expected), atol=1e-4, rtol=0)
    with average.applied():
        assert weight.dtype == dtype


def test_float64_stays_float64():
    average = EMA(small_model().double())
    average.update()
    assert {tensor.dtype for tensor in average.weights().values()} == {torch.float64}


@pytest.mark.parametrize("mode", ["copy", "average"])
def test_buffers(mode):
    model = small_model()
    average = BEMA(model, ema_power=0.5, bias_power=0.0, buffers=mode)
    ema = model[1].running_var.clone()
    for t in train(model, torch.optim.SGD(model.parameters(), 0.1), range(1, 6)):
        average.update()
        ema += (10 + t) ** -0.5 * (model[1].running_var - ema)
    live = model[1].running_var.clone()
    with average.applied():
        expected = live if mode == "copy" else ema
        torch.testing.assert_close(model[1].running_var, expected)
        assert model[1].num_batches_tracked == 5
        model(torch.randn(8, 4))  # training mode: would change the statistics
        assert model[1].num_batches_tracked == 6
    assert torch.equal(model[1].running_var, live)
    assert model[1].num_batches_tracked == 5


def test_names_survive_compile_whole_and_in_parts():
    plain, parts = small_model(), small_model()
    whole: Any = torch.compile(small_model())
    first: Any = torch.compile(parts[0])
    parts[0] = first
    averages = [EMA(model) for model in (plain, whole, parts)]
    for average in averages:
        average.update()
    names = [list(average.weights()) for average in averages]
    assert names[0] == names[1] == names[2]
    averages[0].load_state_dict(averages[1].state_dict())


def test_a_compiled_model_computes_with_the_average():
    model = small_model().eval()
    compiled: Any = torch.compile(model, backend="eager")
    average = BEMA(compiled)
    x = torch.randn(3, 4)
    compiled(x)  # compiled with the live weights
    for _ in train(compiled, torch.optim.SGD(compiled.parameters(), 0.5), range(5)):
        average.update()
    expected = copy.deepcopy(model)
    expected.load_state_dict(average.weights(), strict=False)
    live = compiled(x)
    with average.applied():
        torch.testing.assert_close(compiled(x), expected(x))
    assert torch.equal(compiled(x), live)


def test_names_survive_ddp():
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    store = torch.distributed.HashStore()  # type: ignore[attr-defined]
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        wrapped = nn.parallel.DistributedDataParallel(small_model())
        compiled: Any = torch.compile(wrapped)
        average = EMA(compiled)
        average.update()
        assert list(average.weights()) == [n for n, _ in small_model().named_parameters()]
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("powers", [0.5, [0.5, 0.7]])
def test_parameters_on_several_devices(powers):
    """The meta device stands in for an accelerator: it refuses to be mixed with the CPU too."""
    model = nn.ModuleDict({"here": nn.Linear(2, 2), "there": nn.Linear(2, 2, device="meta")})
    average = BEMA(model, powers)
    average.update()
    devices = {name: tensor.device.type for name, tensor in average.weights().items()}
    assert devices["here.weight"] == "cpu"
    assert devices["there.weight"] == "meta"


@pytest.mark.parametrize("powers", [0.5, [0.5, 0.7]])
def test_offloaded_averages_are_on_that_device(powers):
    """On a machine without an accelerator the other device has to be meta, which has no values."""
    average = BEMA(small_model(), powers, offload="meta", update_every=2, buffers="average")
    for _ in range(4):
        average.update()
    assert {tensor.device.type for tensor in average.weights().values()} == {"meta"}
    on_cpu, beside = BEMA(small_model(), powers, offload="cpu"), BEMA(small_model(), powers)
    on_cpu.update()
    beside.update()
    torch.testing.assert_close(on_cpu.weights(), beside.weights(), rtol=0, atol=0)


def test_a_reshaped_parameter_is_named():
    model = small_model()
    average = EMA(model)
    model[3].weight.data = torch.zeros(3, 9)
    with pytest.raises(AveragingError, match=r"3.weight is now \(3, 9\).*\(2, 8\)"):
        average.update()


def test_a_replaced_parameter_is_named():
    model = small_model()
    average = EMA(model)
    average.update()
    model[3].weight = nn.Parameter(torch.zeros(2, 8))
    with pytest.raises(AveragingError, match=r"3.weight was replaced"), average.applied():
        pass


def test_attached_averages_count_optimizer_steps_under_accumulation():
    by_hand, attached = small_model(), small_model()
    averages = [BEMA(by_hand), BEMA(attached)]
    optimizers = [torch.optim.SGD(model.parameters(), 0.1) for model in (by_hand, attached)]
    averages[1].attach(optimizers[1])
    for model, optimizer in zip((by_hand, attached), optimizers, strict=True):
        for micro_batch in range(12):
            generator = torch.Generator().manual_seed(micro_batch)
            model(torch.randn(8, 4, generator=generator)).square().mean().backward()
            if micro_batch % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
                if model is by_hand:
                    averages[0].update()
    assert averages[1].step == 4
    torch.testing.assert_close(averages[0].weights(), averages[1].weights(), rtol=0, atol=0)
    with pytest.raises(AveragingError, match="attached"):
        averages[1].update()
    with pytest.raises(AveragingError, match="already"):
        averages[1].attach(optimizers[1])
    averages[1].detach()
    averages[1].update()
    assert averages[1].step == 5


@settings(deadline=None, max_examples=30)
@given(
    schedule=st.sampled_from(["paper", "trl", "authors-offline", "authors-online"]),
    powers=st.lists(st.floats(0, 1), min_size=1, max_size=3),
    start_after=st.integers(0, 6),
    update_every=st.integers(1, 4),
    dtype=st.sampled_from([torch.float32, torch.bfloat16, torch.float64]),
    buffers=st.sampled_from(["copy", "average"]),
    interruptions=st.sets(st.integers(1, 14), max_size=3),
    kind=st.sampled_from((EMA, BEMA)),
)
def test_an_interrupted_training_equals_an_uninterrupted_one(
    schedule, powers, start_after, update_every, dtype, buffers, interruptions, kind
):
    def start():
        model = small_model().to(dtype)
        optimizer = torch.optim.AdamW(model.parameters(), 0.05)
        average = kind(
            model,
            powers,
            schedule=schedule,
            start_after=start_after,
            update_every=update_every,
            buffers=buffers,
        )
        return model, optimizer, average

    def run(stops: list[int]):
        model, optimizer, average = start()
        for first, last in itertools.pairwise([0, *stops, 15]):
            if first > 0:
                # Through the bytes of a safetensors file, into objects that know nothing.
                stored = save(average.state_dict())
                states = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
                model, optimizer, average = start()
                model.load_state_dict(states[0])
                optimizer.load_state_dict(states[1])
                average.load_state_dict(load(stored))
            for _ in train(model, optimizer, range(first, last)):
                average.update()
        return average

    whole, pieces = run([]), run(sorted(interruptions))
    torch.testing.assert_close(pieces.state_dict(), whole.state_dict(), rtol=0, atol=0)
    for ema, bias in whole.grid() if whole.ready else []:
        torch.testing.assert_close(
            pieces.weights_at(ema, bias), whole.weights_at(ema, bias), rtol=0, atol=0
        )


def test_a_state_of_another_model_names_the_first_difference():
    state = BEMA(small_model()).state_dict()
    other = nn.Sequential(nn.Linear(4, 9), nn.BatchNorm1d(9), nn.GELU(), nn.Linear(9, 2))
    with pytest.raises(InputError, match=r"ema.0.weight has shape \(1, 8, 4\).*\(1, 9, 4\)"):
        BEMA(other).load_state_dict(state)
    with pytest.raises(InputError, match=r"ema.weight is missing"):
        BEMA(nn.Linear(4, 8)).load_state_dict(state)
    with pytest.raises(InputError, match=r"ema.3.weight is unknown"):
        BEMA(small_model()[:2]).load_state_dict(state)
    with pytest.raises(InputError, match=r"first.0.weight is missing"):
        BEMA(small_model()).load_state_dict(EMA(small_model()).state_dict())


def test_a_state_of_other_settings_names_the_field():
    state = BEMA(small_model(), lag=3).state_dict()
    average = BEMA(small_model())
    before = {name: tensor.clone() for name, tensor in average.state_dict().items()}
    with pytest.raises(InputError, match=r"state's lag = 3: expected 10.0, as in this average"):
        average.load_state_dict(state)
    torch.testing.assert_close(average.state_dict(), before, rtol=0, atol=0)


def test_a_grid_needs_one_buffer_per_ema_power():
    model = nn.Linear(10, 10, bias=False)
    average = BEMA(model, [0.3, 0.5, 0.7], [0.1, 0.2, 0.3, 0.4])
    kept = sum(tensor.numel() for name, tensor in average.state_dict().items() if "weight" in name)
    assert kept == (3 + 1) * 100
    assert len(average.grid()) == 3 * (1 + 4)
    average.update()
    for ema, bias in average.grid():
        by_value = average.weights(
            average.ema_powers[ema], None if bias is None else average.bias_powers[bias]
        )
        torch.testing.assert_close(average.weights_at(ema, bias), by_value, rtol=0, atol=0)


def test_a_power_that_is_not_kept_is_refused():
    average = BEMA(small_model(), [0.3, 0.5])
    average.update()
    with pytest.raises(InputError, match=r"ema_power = 0.4.*expected one of \[0.3, 0.5\]"):
        average.weights(ema_power=0.4)
    with pytest.raises(InputError, match=r"bias_power = -1"):
        average.weights(bias_power=-1)
    with pytest.raises(InputError, match=r"entry of grid"):
        average.weights_at(0, 1)
    plain = EMA(small_model())
    plain.update()
    with pytest.raises(InputError, match=r"an EMA has no correction: use BEMA"):
        plain.weights(bias_power=0.2)


def test_weights_are_new_tensors():
    average = BEMA(small_model())
    average.update()
    before = average.weights(bias_power=None)
    for tensor in average.weights(bias_power=None).values():
        tensor.add_(1)
    torch.testing.assert_close(average.weights(bias_power=None), before, rtol=0, atol=0)

"""Averaging stored checkpoints gives what averaging during training would have given."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from lengthwise.averaging import BEMA
from lengthwise.averaging.post_hoc import average_checkpoints, read_series
from lengthwise.errors import InputError

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
DTYPES = [*FLOATS, torch.int64, torch.int8, torch.uint8, torch.bool]


def write(folder: Path, name: str, **tensors: torch.Tensor) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / name)
    return folder / name


@pytest.mark.parametrize("schedule", ["paper", "trl", "authors-offline"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("first", "every"), [(0, 5), (3, 5), (100, 100)])
def test_equals_the_average_kept_in_training(tmp_path, schedule, dtype, first, every):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)).to(dtype)
    options = {"schedule": schedule, "lag": 4.0, "multiplier": 0.5}
    average = BEMA(model, 0.6, 0.3, start_after=first, update_every=every, **options)
    optimizer = torch.optim.AdamW(model.parameters(), 0.02)
    last = first + 4 * every
    paths = []
    for step in range(last + 1):
        if step > 0:
            model(torch.randn(8, 4, dtype=dtype)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            average.update()
        if step >= first and (step - first) % every == 0:
            paths.append(write(tmp_path, f"ckpt-{step}.safetensors", **model.state_dict()))
    out = tmp_path / "averaged.safetensors"
    average_checkpoints(paths, out, ema_power=0.6, bias_power=0.3, **options)
    result = load_file(out)
    for name, tensor in average.weights().items():
        assert torch.equal(result[name], tensor.to(dtype)), name
    assert result["1.num_batches_tracked"] == last
    average_checkpoints(paths, out, ema_power=0.6, bias_power=None, overwrite=True, **options)
    for name, tensor in average.weights(bias_power=None).items():
        assert torch.equal(load_file(out)[name], tensor.to(dtype)), name


def test_the_order_is_that_of_the_steps_not_of_the_names(tmp_path):
    paths = [
        write(tmp_path, f"ckpt-{step}.safetensors", weight=torch.full((2,), float(step)))
        for step in (1000, 200, 90)
    ]
    assert [checkpoint.step for checkpoint in read_series(paths)] == [90, 200, 1000]


@pytest.mark.parametrize(
    ("path", "step"),
    [
        ("ckpt-100.safetensors", 100),
        ("model_step200_v2.safetensors", 200),
        ("epoch=3-step=450.safetensors", 450),
        ("checkpoint-70/model.safetensors", 70),
    ],
)
def test_the_step_in_a_name(tmp_path, path, step):
    file = tmp_path / path
    write(file.parent, file.name, weight=torch.zeros(1))
    other = write(tmp_path, "ckpt-9999.safetensors", weight=torch.zeros(1))
    assert read_series([other, file])[0].step == step


def test_folders_of_a_trainer_whole_and_in_shards(tmp_path):
    write(tmp_path / "checkpoint-1", "model.safetensors", a=torch.zeros(2), b=torch.zeros(3))
    shards = tmp_path / "checkpoint-2"
    write(shards, "model-00001-of-00002.safetensors", a=torch.ones(2))
    write(shards, "model-00002-of-00002.safetensors", b=torch.ones(3))
    write(shards, "averaging.safetensors", step=torch.ones(()))
    out = tmp_path / "out.safetensors"
    average_checkpoints([tmp_path / "checkpoint-1", shards], out, ema_power=0.0, bias_power=None)
    torch.testing.assert_close(load_file(out), {"a": torch.ones(2), "b": torch.ones(3)})


@given(
    dtypes=st.lists(
        st.sampled_from(DTYPES),
        min_size=1,
        max_size=6,
    ),
    shapes=st.lists(st.sampled_from([(), (0,), (1,), (3,), (2, 5)]), min_size=6, max_size=6),
)
def test_any_dtypes_and_shapes_give_a_file_that_safetensors_reads(tmp_path_factory, dtypes, shapes):
    folder = tmp_path_factory.mktemp("any")
    tensors = {
        f"tensor-{i}": torch.ones(shape, dtype=dtype)
        for i, (dtype, shape) in enumerate(zip(dtypes, shapes, strict=False))
    }
    paths = [write(folder, f"ckpt-{step}.safetensors", **tensors) for step in (1, 2)]
    average_checkpoints(paths, folder / "out.safetensors")
    torch.testing.assert_close(load_file(folder / "out.safetensors"), tensors, rtol=0, atol=0)


def test_every_tensor_is_aligned(tmp_path):
    tensors = {"a": torch.ones(3, dtype=torch.bool), "b": torch.ones(3).half(), "c": torch.ones(1)}
    paths = [write(tmp_path, f"ckpt-{step}.safetensors", **tensors) for step in (1, 2)]
    average_checkpoints(paths, tmp_path / "out.safetensors")
    content = (tmp_path / "out.safetensors").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    assert length % 8 == 0
    for name, tensor in tensors.items():
        assert header[name]["data_offsets"][0] % tensor.element_size() == 0


def test_the_file_says_how_it_was_made(tmp_path):
    paths = [write(tmp_path, f"ckpt-{step}.safetensors", w=torch.ones(2)) for step in (5, 10)]
    average_checkpoints(paths, tmp_path / "out.safetensors", ema_power=0.7)
    with safe_open(tmp_path / "out.safetensors", "pt") as file:
        metadata = file.metadata()
    assert '"ema_power": 0.7' in metadata["average"]
    assert metadata["steps"] == "[5, 10]"
    assert metadata["format"] == "pt"


def test_memory_does_not_grow_with_the_model(tmp_path):
    """Sixteen tensors of 8 MB in each of three checkpoints, and room for a few of them."""
    tensors = {f"tensor-{i}": torch.zeros(2_000_000) for i in range(16)}
    for step in (1, 2, 3):
        write(tmp_path, f"ckpt-{step}.safetensors", **tensors)
    code = """
import resource, sys
from pathlib import Path
from lengthwise.averaging.post_hoc import average_checkpoints
folder = Path(sys.argv[1])
paths = [folder / f"ckpt-{step}.safetensors" for step in (1, 2, 3)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
average_checkpoints(paths, folder / "out.safetensors")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    unit = 1024 if sys.platform == "linux" else 1
    assert int(result.stdout) * unit < 80e6


def refuse(paths, out, match, **options):
    with pytest.raises(InputError, match=match):
        average_checkpoints(paths, out, **options)
    assert not out.exists()


def test_bad_series_are_named(tmp_path):
    out = tmp_path / "out.safetensors"
    one = write(tmp_path, "ckpt-1.safetensors", a=torch.zeros(2), b=torch.zeros(2))
    two = write(tmp_path, "ckpt-2.safetensors", a=torch.zeros(2), b=torch.zeros(2))
    refuse([one], out, "expected at least two")
    refuse([one, one], out, "both of step 1")
    fewer = write(tmp_path, "ckpt-3.safetensors", a=torch.zeros(2))
    refuse([one, two, fewer], out, r"checkpoints differ: b is in .*ckpt-1.* not in .*ckpt-3")
    more = write(tmp_path, "ckpt-4.safetensors", a=torch.zeros(2), aa=torch.zeros(1))
    refuse([one, more], out, r"checkpoints differ: aa is in .*ckpt-4.* but not in .*ckpt-1")
    shape = write(tmp_path, "ckpt-5.safetensors", a=torch.zeros(3), b=torch.zeros(2))
    refuse([one, shape], out, r"a is F32 \[2\] in .*ckpt-1.* but F32 \[3\] in .*ckpt-5")
    dtype = write(tmp_path, "ckpt-6.safetensors", a=torch.zeros(2).half(), b=torch.zeros(2))
    refuse([one, dtype], out, r"a is F32 \[2\] .* but F16 \[2\]")
    nameless = write(tmp_path / "folder", "weights.safetensors", a=torch.zeros(2))
    refuse([one, nameless], out, "expected the step in its name")
    refuse([one, tmp_path / "ckpt-7.safetensors"], out, "ckpt-7")
    (tmp_path / "ckpt-8.safetensors").write_bytes(b"not a checkpoint")
    refuse([one, tmp_path / "ckpt-8.safetensors"], out, "not a safetensors file")
    (tmp_path / "ckpt-9").mkdir()
    refuse([one, tmp_path / "ckpt-9"], out, "a folder with a model's safetensors files")
    refuse([one, two], out, "ema_power = 2", ema_power=2)


def test_nothing_is_overwritten_unless_asked(tmp_path):
    paths = [write(tmp_path, f"ckpt-{step}.safetensors", w=torch.ones(2)) for step in (5, 10)]
    out = tmp_path / "out.safetensors"
    out.write_text("precious")
    with pytest.raises(InputError, match="a file that does not exist yet"):
        average_checkpoints(paths, out)
    assert out.read_text() == "precious"
    average_checkpoints(paths, out, overwrite=True)
    assert set(load_file(out)) == {"w"}
    with pytest.raises(InputError, match="a file that is not a checkpoint"):
        average_checkpoints(paths, paths[0], overwrite=True)

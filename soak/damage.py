"""Ways to damage a file, a folder or a word of a command."""

import json
import os
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

Damage = Callable[[Random, Path], str]
"""Changes what is at the path, and says what it did in a few words."""

WRONG: list[Any] = [
    None, True, False, "", "x", "a\0b", "../../../../etc/passwd", "/etc/passwd", "/dev/full",
    "/dev/zero", "x" * 5000, "\u202e\u0430\ud83d\ude00", "\ud800", "<script>alert(1)</script>",
    "nan", "mine.py", "~", "$HOME", "; rm -rf x", "%s%n", -1, 0, 1, 2, 3.5, 1e308, -1e308,
    float("nan"), float("inf"), 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400,
    [], {}, [None], [[]], {"": 0}, [1e308] * 3, {"name": None}, {"name": "set-complement"},
    "set-complement", "layernorm", ["layernorm", "rmsnorm"], ["learned"], list(range(1000)),
]  # fmt: skip
"""Values that somebody or something might put in place of a right one."""

WORDS = [str(one) for one in WRONG if not isinstance(one, list | dict)] + [
    "9" * 30, "-" + "9" * 30, "1e-400", "0x10", "1_000", "١٢", "--", "-", "..", ".", "/",
    "a/../b", "/proc/self/mem", "/proc/1/root", "/dev/null", "/nowhere/at/all", "con", "a:b:c",
    "1:2:3", "0:0", "8:4", ",", "1,", "-5:10", "1:99999999999999999999", "4,3", "*", "?", "[",
    "\n", "two\nlines", "\t", " ", "é", "\u2028", "auto", "none", "all", "cpu:9", "cuda",
]  # fmt: skip
"""The same on a command line."""


def files(folder: Path) -> list[Path]:
    """All files in a folder that are worth damaging, in a fixed order."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def damage(rng: Random, path: Path) -> str:
    """Damage a file in one of many ways that suit its kind; says how."""
    ways: list[Damage] = [*_BYTES, *_BYTES, *_PLACES]
    ways += {".json": _JSON * 3, ".parquet": _PARQUET * 3, ".safetensors": _SAFETENSORS * 3}.get(
        path.suffix, []
    )
    if path.suffix == ".py":
        ways += _PYTHON * 3
    if path.suffix == ".gguf":
        ways += [_gguf_field] * 8
    way = rng.choice(ways)
    return f"{way.__name__.strip('_').replace('_', ' ')}: {way(rng, path)}"


def _truncate(rng: Random, path: Path) -> str:
    content = path.read_bytes()
    kept = rng.randrange(len(content)) if content else 0
    path.write_bytes(content[:kept])
    return f"{kept} of {len(content)} bytes kept"


def _flip(rng: Random, path: Path) -> str:
    content = bytearray(path.read_bytes())
    bits = rng.choice([1, 1, 1, 8, 64])
    for _ in range(bits if content else 0):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)
    return f"{bits} bits"


def _early_flip(rng: Random, path: Path) -> str:
    content = bytearray(path.read_bytes())
    for _ in range(3 if content else 0):
        content[rng.randrange(min(64, len(content)))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)
    return "3 bits at the beginning"


def _empty(rng: Random, path: Path) -> str:
    path.write_bytes(b"")
    return "nothing in it"


def _append(rng: Random, path: Path) -> str:
    with path.open("ab") as file:
        file.write(rng.randbytes(rng.choice([1, 100])))
    return "more behind it"


def _zeros(rng: Random, path: Path) -> str:
    content = bytearray(path.read_bytes())
    start = rng.randrange(len(content)) if content else 0
    content[start : start + 512] = bytes(len(content[start : start + 512]))
    path.write_bytes(content)
    return f"zeros from byte {start}"


def _ones(rng: Random, path: Path) -> str:
    content = bytearray(path.read_bytes())
    start = rng.randrange(len(content)) // 8 * 8 if content else 0
    content[start : start + 8] = b"\xff" * len(content[start : start + 8])
    path.write_bytes(content)
    return f"a number of 64 ones at byte {start}"


def _noise(rng: Random, path: Path) -> str:
    path.write_bytes(rng.randbytes(rng.choice([1, 64, 4096])))
    return "random bytes"


def _other_kind(rng: Random, path: Path) -> str:
    others = [
        b"PAR1" + bytes(40) + b"PAR1", b"GGUF" + bytes(40), b"[" * 50_000, b"{}", b"null",
        struct.pack("<Q", 2**62) + b"{}", struct.pack("<Q", 2) + b"{}", b"\x93NUMPY\x01\x00",
        b"\xff\xfe{\x00}\x00", b"import os\n", b"\x80\x04N.", b"PK\x03\x04", "é".encode("latin-1"),
    ]  # fmt: skip
    path.write_bytes(rng.choice(others))
    return "another kind of file"


def _missing(rng: Random, path: Path) -> str:
    path.unlink()
    return "gone"


def _a_folder(rng: Random, path: Path) -> str:
    path.unlink()
    path.mkdir()
    return "a folder in its place"


def _dangling(rng: Random, path: Path) -> str:
    path.unlink()
    path.symlink_to("nowhere")
    return "a link to nothing"


def _loop(rng: Random, path: Path) -> str:
    path.unlink()
    path.symlink_to(path.name)
    return "a link to itself"


def _device(rng: Random, path: Path) -> str:
    to = rng.choice(["/dev/full", "/dev/zero", "/dev/null", "/proc/self/mem", "/", "/dev/random"])
    path.unlink()
    path.symlink_to(to)
    return f"a link to {to}"


def _fifo(rng: Random, path: Path) -> str:
    path.unlink()
    os.mkfifo(path)
    return "a pipe that nobody writes to"


def _unreadable(rng: Random, path: Path) -> str:
    path.chmod(0)
    return "nobody may read it"


def _unreadable_folder(rng: Random, path: Path) -> str:
    path.parent.chmod(0)
    return f"nobody may read {path.parent.name}"


def _read_only(rng: Random, path: Path) -> str:
    path.parent.chmod(0o555)
    return f"nobody may write to {path.parent.name}"


def _parent_is_a_file(rng: Random, path: Path) -> str:
    parent = path.parent
    if len(list(parent.parent.iterdir())) > 40 or parent.name == "work":
        return _missing(rng, path)
    shutil.rmtree(parent)
    parent.write_text("no folder")
    return f"{parent.name} is a file"


_BYTES: list[Damage] = [
    _truncate, _flip, _early_flip, _empty, _append, _zeros, _ones, _noise, _other_kind,
]  # fmt: skip
_PLACES: list[Damage] = [
    _missing, _a_folder, _dangling, _loop, _device, _fifo, _unreadable, _unreadable_folder,
    _read_only, _parent_is_a_file,
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places of a JSON value, as paths."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from places(value[index], (*path, index))


def damaged_json(rng: Random, value: Any) -> str:
    """Change a JSON value in one place; says how."""
    found = list(places(value))
    if not found:
        return "nothing to change"
    *above, last = rng.choice(found)
    inner = value
    for step in above:
        inner = inner[step]
    where = ".".join(map(str, (*above, last)))
    way = rng.choice(["wrong", "wrong", "wrong", "missing", "unknown"])
    if way == "wrong":
        inner[last] = rng.choice(WRONG)
        return f"{where} = {json.dumps(inner[last])[:60]}"
    if way == "missing":
        del inner[last]
        return f"{where} is missing"
    if isinstance(inner, dict):
        inner[rng.choice(["", "stepz", "a\0", "__class__"])] = inner.pop(last)
        return f"{where} has another name"
    inner.append(inner[last])
    return f"{where} twice"


def _wrong_json(rng: Random, path: Path) -> str:
    value = json.loads(path.read_text(encoding="utf-8"))
    said = damaged_json(rng, value)
    path.write_text(json.dumps(value), encoding="utf-8", errors="surrogatepass")
    return said


_JSON: list[Damage] = [_wrong_json] * 3


def _wrong_table(rng: Random, path: Path) -> str:
    import io

    import polars

    table = polars.read_parquet(path)
    name = rng.choice(table.columns)
    column = table[name]
    way = rng.choice(["drop", "rename", "null", "text", "rows", "twice", "huge", "bytes", "lists"])
    if way == "drop":
        table = table.drop(name)
    elif way == "rename":
        table = table.rename({name: rng.choice(["", "x", "<script>", "trial\0"])})
    elif way == "null":
        table = table.with_columns(polars.lit(None, column.dtype).alias(name))
    elif way == "text":
        table = table.with_columns(polars.lit(rng.choice(["", "x", "<script>"])).alias(name))
    elif way == "rows":
        table = table.clear()
    elif way == "twice":
        table = polars.concat([table, table])
    elif way == "bytes":
        table = table.with_columns(polars.lit(rng.randbytes(5)).alias(name))
    elif way == "lists":
        empty = polars.Series(name, [[]] * len(table), polars.List(polars.Float64))
        table = table.with_columns(empty)
    elif column.dtype.is_numeric():
        huge = rng.choice([2**62, -1, 2**31]) if column.dtype.is_integer() else rng.choice(
            [float("nan"), float("inf"), -1e300]
        )  # fmt: skip
        table = table.with_columns(polars.lit(huge).cast(column.dtype, strict=False).alias(name))
    else:
        way = "shuffled"
        table = table.with_columns(column.shuffle(1).alias(name))
    content = io.BytesIO()
    table.write_parquet(content)
    path.unlink()
    stem = path.stem.rpartition("-")[0]
    if stem and rng.random() < 0.7:  # the checksum in its name is made right again
        path = path.with_name(f"{stem}-{zlib.crc32(content.getvalue()):08x}.parquet")
    path.write_bytes(content.getvalue())
    return f"{way} {name}"


_PARQUET: list[Damage] = [_wrong_table] * 3


def _wrong_header(rng: Random, path: Path) -> str:
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    inner = header.get("__metadata__", {}).get("recipe")
    if inner is not None and rng.random() < 0.6:
        recipe = json.loads(inner)
        said = f"recipe: {damaged_json(rng, recipe)}"
        header["__metadata__"]["recipe"] = json.dumps(recipe)
    else:
        said = damaged_json(rng, header)
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + size :])
    return said


def _wrong_tensor(rng: Random, path: Path) -> str:
    import torch
    from safetensors import safe_open
    from safetensors.torch import save_file

    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    name = rng.choice(sorted(tensors))
    way = rng.choice(["gone", "nan", "integer", "flat", "more", "empty", "name", "half", "huge"])
    one = tensors[name]
    if way == "gone":
        del tensors[name]
    elif way == "nan":
        tensors[name] = torch.full_like(one, torch.nan) if one.is_floating_point() else one * 0 - 1
    elif way == "integer":
        tensors[name] = one.to(torch.int64)
    elif way == "flat":
        tensors[name] = one.reshape(-1).clone()
    elif way == "more":
        tensors[name] = torch.cat([one.reshape(-1), one.reshape(-1)])
    elif way == "empty":
        tensors[name] = one.reshape(-1)[:0].clone()
    elif way == "name":
        tensors[rng.choice(["", "x", "../x", "__metadata__ "])] = tensors.pop(name)
    elif way == "half":
        tensors[name] = one.to(torch.float16)
    else:
        tensors[name] = torch.full_like(one, 2**62 if one.dtype == torch.int64 else 120)
    save_file(tensors, path, metadata)
    return f"{way} {name}"


_SAFETENSORS: list[Damage] = [_wrong_header, _wrong_tensor, _wrong_tensor]


def _gguf_field(rng: Random, path: Path) -> str:
    """A number in the first part of a GGUF file, where counts, lengths and kinds stand."""
    content = bytearray(path.read_bytes())
    place = rng.randrange(4, min(1200, len(content) - 8))
    width = rng.choice([1, 4, 8])
    value = rng.choice([0, 1, 2**7, 2**31 - 1, 2**32 - 1, 2**63, 2**64 - 1]) % (1 << (8 * width))
    content[place : place + width] = value.to_bytes(width, "little")
    path.write_bytes(content)
    return f"{value} in {width} bytes at {place}"


def _wrong_code(rng: Random, path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    gone = rng.randrange(len(lines))
    ways = {
        "raises": text + "\nraise RuntimeError('two\\nlines')\n",
        "exits": text + "\nraise SystemExit(3)\n",
        "syntax": text + "\ndef f(:\n",
        "nul": text + "\n\0",
        "recursion": text + "\ndef f(): return f()\nf()\n",
        "imports": "import no_such_module_at_all\n" + text,
        "imports a name": "from lengthwise.remedies import Remdy\n" + text,
        "import loop": "import " + path.stem + "\n" + text,
        "nested": "x = " + "(" * 3000 + "\n",
        "deletes a line": "\n".join(lines[:gone] + lines[gone + 1 :]),
        "a word changed": text.replace(
            word := rng.choice([w for w in text.split() if w.isidentifier()]), f"{word}z"
        ),
        "a number changed": text.replace("2", rng.choice(["0", "-1", "None", "1e99", "'x'"])),
        "hooks raise": text.replace(
            "return ", "raise RuntimeError('in a\\nhook')\n        return ", 1
        ),
        "class raises": text.replace('    """', "    raise ValueError('x')\n    \"\"\"", 1),
        "nothing": "",
        "decoration": text.replace("@", "#", 1),
        "twice": text + "\n" + text,
    }  # fmt: skip
    way = rng.choice(sorted(ways))
    path.write_text(ways[way], encoding="utf-8")
    return way


_PYTHON: list[Damage] = [_wrong_code] * 5

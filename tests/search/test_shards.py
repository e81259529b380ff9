from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.errors import InputError
from lengthwise.search.shards import HEADER, ShardWriter, frame, read_shard, shards

PAYLOADS = st.lists(st.binary(max_size=40), min_size=1, max_size=5)


def written(folder: Path, payloads: list[bytes]) -> Path:
    path = folder / "000000.shard"
    path.write_bytes(b"".join(map(frame, payloads)))
    return path


@given(payloads=PAYLOADS)
def test_what_is_written_is_read(payloads: list[bytes], tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("shards")
    writer = ShardWriter(folder)
    writer.append(payloads[:2])
    writer.append(payloads[2:])
    writer.close()
    (path,) = shards(folder)
    assert list(read_shard(path)) == payloads


@given(payloads=PAYLOADS, part=st.floats(0, 1))
def test_a_torn_last_record_is_dropped(
    payloads: list[bytes], part: float, tmp_path_factory
) -> None:
    path = written(tmp_path_factory.mktemp("shards"), payloads)
    whole = path.read_bytes()
    cut = int(part * len(whole))
    path.write_bytes(whole[:cut])
    complete, end = 0, 0
    for payload in payloads:
        end += HEADER + len(payload)
        complete += end <= cut
    assert list(read_shard(path)) == payloads[:complete]


@given(payloads=PAYLOADS, data=st.data())
def test_a_flipped_byte_is_detected_and_the_shard_named(
    payloads: list[bytes], data: st.DataObject, tmp_path_factory
) -> None:
    path = written(tmp_path_factory.mktemp("shards"), payloads)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"000000\.shard is damaged at byte \d+"):
        list(read_shard(path))


def test_every_start_writes_a_shard_of_its_own(tmp_path: Path) -> None:
    writers = [ShardWriter(tmp_path) for _ in range(3)]
    for number, writer in enumerate(writers):
        writer.append([bytes([number])])
    for number, writer in enumerate(writers):
        writer.append([bytes([number])])
        writer.close()
    assert [list(read_shard(path)) for path in shards(tmp_path)] == [
        [bytes([n])] * 2 for n in range(3)
    ]


def test_a_writer_without_records_leaves_no_shard(tmp_path: Path) -> None:
    ShardWriter(tmp_path).close()
    assert shards(tmp_path) == []

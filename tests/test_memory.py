"""Memory is refused before it is asked for, with what it would take and what there is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import attentest
from attentest import files, memory
from attentest.errors import InputError
from attentest.files import read_foreign_table, size_in_memory
from attentest.memory import check_memory, free_memory


def test_what_is_free_is_a_sensible_number() -> None:
    free = free_memory()
    assert free is not None
    assert 10**7 < free < 10**15


def test_a_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(**files: object) -> None:
        for name, content in files.items():
            (tmp_path / f"memory.{name}").write_text(f"{content}\n", encoding="ascii")

    none = (tmp_path / "none", "a", "b", "c")
    monkeypatch.setattr(memory, "_GROUPS", ((tmp_path, "memory.max", "memory.current", "(?:in)?active_file"), none))
    write(max=3_000_000, current=2_000_000, stat="anon 5\nactive_file 300000\ninactive_file 700000\nother 1")
    assert free_memory() == 2_000_000  # what files take of it is given up
    write(max="max")
    assert free_memory() != 2_000_000


def test_a_message_has_both_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 16_000_000_000)
    check_memory(15_999_999_999, "This")
    with pytest.raises(InputError, match=r"^This would take about 1.5 PB of memory, and 16 GB are free here.$"):
        check_memory(1_500_000_000_000_000, "This")
    monkeypatch.setattr(memory, "free_memory", lambda: None)  # where nobody knows, nothing is refused
    check_memory(10**30, "This")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"hidden": 100_000}, "A model of .* parameters .* would take about 2.* TB of memory"),
        ({"dimension": 100_000, "hidden": 50_000}, "A model of .* parameters .* would take about .* TB of memory"),
        ({"encoder": "transformer", "hidden": 100_000}, "A model of .* parameters"),
        ({"structure": "hierarchical", "hidden": 100_000}, "A model of .* parameters"),
    ],
)
def test_a_model_that_has_no_room(
    settings: dict[str, object], said: str, corpus: attentest.Corpus, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        attentest.train(corpus, tmp_path / "run", epochs=1, **settings)  # type: ignore[arg-type]
    assert not (tmp_path / "run" / "run.json").exists()


def test_a_batch_that_has_no_room(corpus: attentest.Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 1_000_000)
    with pytest.raises(InputError, match=r"A batch of 204 texts .* would take about"):
        attentest.train(corpus, tmp_path / "run", epochs=1, dimension=4, hidden=4, batch_size=1000)
    attentest.train(corpus, tmp_path / "run", epochs=1, dimension=4, hidden=4, batch_size=2)


def test_a_generated_corpus_that_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 1_000_000)
    with pytest.raises(InputError, match="A planted corpus of 100,000 rows would take about 32 MB"):
        attentest.load("planted", rows=100_000)
    for name in ("planted", "babi1-generated"):
        with pytest.raises(InputError, match="10,000,000"):
            attentest.load(name, rows=2_000_000_000)


def repeated(file: Path, **more: object) -> Path:
    """A file of a few kilobytes that stands for 12 GB of text."""
    long, rows = "word " * 40_000, 60_000
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), [long])
    table = pa.table({"text": texts, "label": ["a", "b"] * (rows // 2), **more})
    pq.write_table(table, file, compression="zstd", store_schema=False, dictionary_pagesize_limit=1 << 30)
    assert file.stat().st_size < 100_000
    return file


def test_a_small_file_that_repeats_a_long_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = repeated(tmp_path / "texts.parquet")
    monkeypatch.setattr(memory, "free_memory", lambda: 4_000_000_000)
    with pytest.raises(InputError, match=r"texts.parquet would take about 12 GB of memory, and 4 GB are free here."):
        attentest.load(file, text="text", label="label")
    with pytest.raises(InputError, match=r"takes more memory than any table of attentest"):
        read_foreign_table(file)


def test_columns_that_are_not_read_take_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = repeated(tmp_path / "texts.parquet", short=["good", "bad"] * 30_000)
    monkeypatch.setattr(memory, "free_memory", lambda: 4_000_000_000)
    assert len(attentest.load(file, text="short", label="label")) > 0


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.list_(pa.string()), pa.list_(pa.int64())], ids=str)
@pytest.mark.parametrize("dictionary", [True, False])
def test_the_size_that_is_counted_is_that_of_the_table(
    kind: pa.DataType, dictionary: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_SMALL", 0)
    value: object = "a long text " * 50 if not pa.types.is_list(kind) else ["token" * 20] * 30
    if kind == pa.list_(pa.int64()):
        value = list(range(100))
    table = pa.table({"x": pa.array([value, None] * 1000, kind)})
    pq.write_table(table, tmp_path / "x.parquet", use_dictionary=dictionary)
    assert size_in_memory(tmp_path / "x.parquet") == pytest.approx(table.nbytes, rel=0.1)

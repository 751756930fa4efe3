"""Translations line by line: two files whose lines belong together, for one split or for each, and News Commentary."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from attentest.corpora.build import SPLIT_NAMES, build_corpus
from attentest.corpora.corpus import SPLITS, Corpus
from attentest.corpora.encodings import check_encoding, without_mark
from attentest.corpora.layouts.reading import need
from attentest.errors import InputError, brief
from attentest.files import is_file, is_folder, name_of
from attentest.memory import check_memory

_SHOWN = 5  # numbers of lines in a message
_COMMENTARY = re.compile(r"news-commentary-(v\d+)\.(\w+)-(\w+)(?:\.(\w+))?")


def load_lines(path: Path, target: Path, *, name: str | None = None, encoding: str = "utf-8") -> Corpus:
    """A corpus of two files: line n of `target` is the translation of line n of `path`."""
    return _build(name or name_of(Path(path.resolve().stem)), {"": (path, target)}, encoding)


def load(path: Path, languages: str = "") -> Corpus:
    """A folder with two files for each split, named by language: train.en and train.de, dev.en and dev.de…"""
    need(path, "Parallel text", [])
    source, target = _two(languages, f"{path}: ")
    found: dict[str, tuple[Path, Path]] = {}
    for file in sorted(path.iterdir()):
        split = SPLIT_NAMES.get(file.name.partition(".")[0].lower())
        if split is None or not file.name.endswith(f".{source}"):
            continue
        if split in found:
            raise InputError(f"{path} has two files for the {split} split: {found[split][0].name}, {file.name}.")
        found[split] = file, path / f"{file.name.removesuffix(source)}{target}"
    if "train" not in found:
        raise InputError(f"{path} has no train.{source}; a folder needs one file for each split and language.")
    return _build(name_of(path.resolve()), {split: found[split] for split in SPLITS if split in found}, "utf-8")


def load_news_commentary(path: Path, languages: str = "en-de") -> Corpus:
    """news-commentary-vN.de-en.de and .en, or news-commentary-vN.de-en.tsv; the newest version that is there."""
    need(path, "News Commentary", ["news-commentary-v*"])
    source, target = _two(languages)
    versions: dict[int, dict[str, Path]] = {}
    for file in path.iterdir():
        parts = _COMMENTARY.fullmatch(file.name)
        if parts and {parts[2], parts[3]} == {source, target} and parts[4]:
            versions.setdefault(int(parts[1][1:]), {})[parts[4]] = file
    whole = {
        version: files for version, files in versions.items() if "tsv" in files or {source, target} <= files.keys()
    }
    if not whole:
        raise InputError(
            f"News Commentary: {path} has no pair {source}–{target}; expected news-commentary-vN.{target}-{source}."
            f"{source} and .{target}, or .tsv."
        )
    version, files = max(whole.items())
    name = f"news_commentary_v{version}_{source}_{target}"
    if {source, target} <= files.keys():
        return _build(name, {"": (files[source], files[target])}, "utf-8")
    file = files["tsv"]
    first = _COMMENTARY.fullmatch(file.name)
    columns = [line.split("\t") for line in read_lines(file, "utf-8")]
    short = [number for number, fields in enumerate(columns, 1) if len(fields) < 2 and fields != [""]]
    if short:
        raise InputError(f"{file}, line {short[0]}: expected two columns with a tab between them.")
    sides = [[fields[place] if len(fields) > 1 else "" for fields in columns] for place in (0, 1)]
    if first is not None and first[2] == target:
        sides.reverse()
    return _corpus(name, {"": (sides[0], sides[1])}, {"": (file, file)})


def _two(languages: str, where: str = "") -> tuple[str, str]:
    source, sign, target = languages.partition("-")
    if not (source and sign and target) or source == target:
        raise InputError(
            f"{where}`languages` is {brief(languages)}; name the source and the target as the files do: "
            "`languages='en-de'` for train.en and train.de."
        )
    return source, target


def _build(name: str, files: Mapping[str, tuple[Path, Path]], encoding: str) -> Corpus:
    sides = {}
    for split, (source, target) in files.items():
        lines = read_lines(source, encoding), read_lines(target, encoding)
        _expect_same(source, target, *map(len, lines))
        sides[split] = lines
    return _corpus(name, sides, files)


def _corpus(
    name: str, sides: Mapping[str, tuple[list[str], list[str]]], files: Mapping[str, tuple[Path, Path]]
) -> Corpus:
    columns: dict[str, list[str]] = {"id": [], "split": [], "text": [], "second": []}
    notes = []
    for split, (source, target) in sides.items():
        pairs = list(enumerate(zip(source, target, strict=True), 1))
        full = [(number, pair) for number, pair in pairs if pair[0].strip() and pair[1].strip()]
        columns["id"] += [f"{split}/{number}" if split else str(number) for number, _ in full]
        columns["split"] += [split] * len(full)
        columns["text"] += [pair[0] for _, pair in full]
        columns["second"] += [pair[1] for _, pair in full]
        empty = sorted({number for number, _ in pairs} - {number for number, _ in full})
        if empty:
            where = f"{' and '.join(dict.fromkeys(file.name for file in files[split]))}, {_named(empty)}"
            notes.append(f"Dropped {len(empty):,} of {len(pairs):,} pairs with an empty line on a side: {where}.")
    if "" in sides:
        del columns["split"]
    return build_corpus(name, columns, kind="generation", notes=notes)


def _named(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    return f"line{'s' if len(numbers) > 1 else ''} {shown}{'…' if len(numbers) > _SHOWN else ''}"


def _expect_same(source: Path, target: Path, lines: int, others: int) -> None:
    if lines == others:
        return
    longer, last = (source, others) if lines > others else (target, lines)
    raise InputError(
        f"{source} has {lines:,} lines and {target} has {others:,}; line n of one must be the translation of line n of "
        f"the other. From line {last + 1:,} on {longer.name} has no counterpart; if a line is missing further up, all "
        "lines after it are shifted."
    )


def read_lines(file: Path, encoding: str) -> list[str]:
    """The lines of a file, blank ones among them: their numbers say what belongs together."""
    if is_folder(file):
        raise InputError(f"{file} is a folder; expected a file of lines.")
    if not is_file(file):
        raise InputError(f"{file}: there is no such file.")
    check_memory(file.stat().st_size, str(file))
    check_encoding(file, encoding)
    text = file.read_bytes().decode(without_mark(encoding))
    # only \n and \r\n end a line: str.splitlines would also break sentences at \x85 and \u2028
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines

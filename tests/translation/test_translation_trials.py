"""Trials of translation runs: what must change nothing, findings that open again, cases by hand, the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from translation_subjects import subject_on, trained

import attentest
from attentest.errors import InputError
from attentest.files import read_table
from attentest.reports.redrawn import redrawn
from attentest.translation.data import flat
from attentest.translation.run import TranslationRun
from attentest.translation.settings import TranslationText
from attentest.translation.tokens import SPECIAL, learn_tokens
from attentest.trials import make_trial
from attentest.trials.base import NOTHING_TO_MOVE
from attentest.trials.charts.files import as_text
from attentest.trials.of_translation import OF_TRANSLATION, forced, permutation, removal
from attentest.trials.of_translation.base import TranslationTrial
from attentest.trials.of_translation.closed_classes import language_of, listed
from attentest.trials.of_translation.hold import hold_on_translation
from attentest.trials.of_translation.layers import TranslationLayers
from attentest.trials.of_translation.one_step import examined, position_of
from attentest.trials.of_translation.removal import (
    EXCHANGED,
    EXCHANGED_WITHOUT,
    WITHOUT_HEAVIEST,
    WITHOUT_RANDOM,
    changed_rows,
)
from attentest.trials.of_translation.subject import TranslationSubject
from attentest.trials.of_translation.uniform import TranslationUniform
from attentest.trials.of_translation.word_groups import FunctionWords, function_words, word_spans
from attentest.trials.of_translation.words import TranslationWords
from attentest.trials.stored import read_finding

FAST: dict[str, dict[str, Any]] = {  # the trials of this file, with settings that take little time
    "translation-uniform": {},
    "translation-permutation": {"permutations": 5},
    "translation-removal": {},
    "translation-layers": {"kinds": ("permuted",)},
    "translation-words": {"function_words": 4},
}
MODELS = ("bahdanau", "luong general", "transformer")
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("trials") / "run")


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    """As trials are held."""
    with torch.no_grad():
        yield


def made(name: str) -> TranslationTrial:
    trial = make_trial(name, **FAST[name])
    assert isinstance(trial, TranslationTrial)
    return trial


def cases() -> list[tuple[str, str]]:
    return [(name, model) for name in FAST for model in MODELS if "layers" not in name or model == "transformer"]


def columns_of(trial: TranslationTrial, subject: TranslationSubject) -> dict[str, list[Any]]:
    table = pa.table(dict(trial.columns(subject, lambda done, total: None)))
    return {name: table[name].to_pylist() for name in table.column_names}


@pytest.mark.parametrize(("name", "model"), cases())
def test_batches_padding_and_order_change_nothing(
    name: str, model: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (permutation, removal):
        monkeypatch.setattr(module, "position_of", lambda subject: 2)  # not of the pairs that are there
    trial = made(name)
    whole = columns_of(trial, subject_on(folder, model))
    monkeypatch.setattr(forced, "_CELLS_AT_ONCE", 50)
    monkeypatch.setattr(permutation, "_CELLS_AT_ONCE", 50)
    rows = list(range(len(whole["bin"] if "bin" in whole else next(iter(whole.values())))))
    turned = columns_of(trial, subject_on(folder, model, rows[::-1]))
    some = {row: columns_of(trial, subject_on(folder, model, [row])) for row in rows[:4]}
    for column, values in whole.items():
        assert_same(turned[column], values[::-1], column)
        for row, alone in some.items():
            assert_same(alone[column], values[row : row + 1], column)


def assert_same(found: list[Any], expected: list[Any], column: str) -> None:
    number = isinstance(expected[0], float)
    assert found == (pytest.approx(expected, abs=1e-10, nan_ok=True) if number else expected), column


@pytest.mark.parametrize(("name", "model"), cases())
def test_the_seed_decides(name: str, model: str, folder: Path) -> None:
    first, again, other = (
        columns_of(make_trial(name, **FAST[name], seed=seed), subject_on(folder, model))  # type: ignore[arg-type]
        for seed in (0, 0, 1)
    )
    assert repr(first) == repr(again)
    if name != "translation-words":  # its counts may be the same by chance
        assert repr(first) != repr(other)


@pytest.mark.parametrize("model", MODELS)
def test_weights_that_are_already_so_change_nothing(model: str, folder: Path) -> None:
    """Of a model whose weights are uniform by construction, uniform and permuted ones are its own."""
    subject = subject_on(folder, model, fixed="uniform")
    found, words, shuffled = hold_on_translation(
        [made("translation-uniform"), made("translation-words"), made("translation-permutation")], subject
    )
    for kind in ("uniform", "permuted"):
        assert found.summary[f"difference, {kind}"].value == 0
        assert found.summary[f"mean TVD, {kind}"].value < 1e-12
        assert found.summary[f"steps changed, {kind}"].value == 0
        assert found.summary[f"change of log-probability, {kind}"].value == pytest.approx(0, abs=1e-12)
        assert words.summary[f"content words kept, {kind}"].value == 1
    assert shuffled.summary["mean of median TVD"].value < 1e-12
    assert found.summary["mean TVD, random"].value > 1e-3
    assert found.summary["mean TVD, dropped"].value > 1e-3


def test_every_site_matters_to_a_transformer(folder: Path) -> None:
    subject = subject_on(folder, "transformer")
    (finding,) = hold_on_translation([TranslationLayers(kinds=("uniform",), decode=1)], subject)
    for site in subject.model.sites:
        assert finding.summary[f"mean TVD, uniform, {site}"].value > 1e-4, site


def test_few_pairs_are_translated_where_it_costs(folder: Path) -> None:
    subject = subject_on(folder, "transformer")
    (finding,) = hold_on_translation([TranslationLayers(kinds=("uniform",), decode=3)], subject)
    there = [text != "" for text in finding.table["BLEU counts"].to_pylist()]
    assert sum(there) == 3
    assert finding.summary["BLEU"].n == 3
    assert finding.summary["mean TVD, uniform, encoder.0"].n == len(subject)
    assert finding.notes == (
        f"BLEU is that of 3 of {len(subject)} pairs (`decode`).",
        "The layer that matters most was chosen on these pairs, so its figure is somewhat too large.",
        "BLEU has no interval: it needs at least 25 sentences, and there are 3.",
    )


@pytest.mark.parametrize(("name", "model"), cases())
def test_findings_are_kept_and_drawn_again(name: str, model: str, folder: Path, tmp_path: Path) -> None:
    subject = subject_on(folder, model)
    saved = TranslationSubject(subject.run, subject.rows, tmp_path)
    (finding,) = hold_on_translation([made(name)], saved)
    stored = read_finding(tmp_path / name)
    charts = redrawn(stored)
    assert charts
    assert list(charts) == list(finding.charts)
    listed = json.loads((tmp_path / name / "finding.json").read_text(encoding="utf-8"))["charts"]
    for chart in listed:
        assert (tmp_path / name / chart["spec"]).read_text(encoding="utf-8") == as_text(charts[chart["title"]])
        assert (tmp_path / name / chart["svg"]).exists()
    kept = read_table(tmp_path / name / "table.parquet")
    again = made(name).conclude(kept)
    assert again.answer == finding.answer
    assert repr(dict(again.summary)) == repr(dict(finding.summary))
    for figure in finding.summary.values():
        assert not figure.value < figure.low
        assert not figure.value > figure.high


def test_sources_of_one_token_say_nothing(folder: Path) -> None:
    subject = subject_on(folder, "bahdanau")
    subject.__dict__["sources"] = flat([np.array([5], np.int32)] * len(subject))
    trials = [made(f"translation-{name}") for name in ("permutation", "removal", "uniform")]
    shuffled, removed, uniform = hold_on_translation(trials, subject)
    for finding in (shuffled, removed):
        assert finding.answer == NOTHING_TO_MOVE
        assert finding.summary == {}
        assert finding.charts == {}
    for kind in ("uniform", "random", "permuted", "dropped"):
        assert uniform.summary[f"difference, {kind}"].value == 0
        assert uniform.summary[f"mean TVD, {kind}"].value < 1e-12


def test_the_position_is_the_lower_quartile_of_the_lengths(folder: Path) -> None:
    subject = subject_on(folder, "bahdanau", range(5))
    lengths = (7, 3, 2, 9, 4)  # in order 2 3 4 7 9: a quarter of the way from the first to the last is 3
    subject.__dict__["targets"] = flat([np.array([*[5] * n, 3], np.int32) for n in lengths])
    assert position_of(subject) == 3
    (finding,) = hold_on_translation([made("translation-permutation")], subject)
    assert [name != "" for name in finding.table["bin"].to_pylist()] == [True, True, False, True, True]
    told = " ".join(finding.notes)
    assert "target token 3" in told
    assert "1 pairs have a shorter reference" in told
    table, _ = examined(finding.table)
    assert not np.isnan(table["median_tvd"].to_numpy()).any()


def test_weights_without_a_token_by_hand() -> None:
    weights = torch.tensor([[[[0.5, 0.3, 0.2, 0.0]], [[1.0, 0.0, 0.0, 0.0]]]])
    items = torch.tensor([[0, 2]])
    expected = {
        WITHOUT_HEAVIEST: [[0, 0.6, 0.4, 0], [1, 0, 0, 0]],  # a row with no other weight keeps its own
        WITHOUT_RANDOM: [[0.625, 0.375, 0, 0], [1, 0, 0, 0]],
        EXCHANGED: [[0.2, 0.3, 0.5, 0], [0, 0, 1, 0]],
        EXCHANGED_WITHOUT: [[0.4, 0.6, 0, 0], [0, 0, 1, 0]],
    }
    for variant, rows in expected.items():
        found = changed_rows(weights, items, variant)[0, :, 0]
        assert torch.allclose(found, torch.tensor(rows, dtype=torch.float32)), variant


def test_words_by_hand(folder: Path, tmp_path: Path) -> None:
    run = TranslationRun(folder)
    names = run.target_tokens.known[len(SPECIAL) :]  # type: ignore[attr-defined]
    assert function_words(run, "none", 2, "") == FunctionWords(
        frozenset(names[:2]), "the 2 most frequent words of the training split"
    )
    file = tmp_path / "words.txt"
    file.write_text("Ein\n\nzwei\n", encoding="utf-8")
    known = function_words(run, "auto", 100, str(file))
    assert known == FunctionWords(frozenset({"ein", "zwei"}), "a file")
    assert [known.group(word) for word in ("ein", "hunde", ".", "–")] == [
        *("function words", "content words", "punctuation marks", "punctuation marks")
    ]
    for content, message in ((b"", "has no words"), (b"\xff\xfe\x00", "UTF-8")):
        file.write_bytes(content)
        with pytest.raises(InputError, match=message):
            function_words(run, "auto", 100, str(file))
    with pytest.raises(InputError, match=r"nowhere\.txt"):
        function_words(run, "auto", 100, str(tmp_path / "nowhere.txt"))


def test_function_words_are_those_of_the_language_of_the_references(folder: Path) -> None:
    """Sentences of both languages, counted by hand: 6 of 11 words and 7 of 12 are of closed classes."""
    german = ["zwei", "Männer", "stehen", "auf", "einer", "Straße", "und", "einer", "von", "ihnen", "singt"]
    english = ["two", "men", "are", "standing", "in", "the", "street", "and", "one", "of", "them", "sings"]
    for code, words, count in (("de", german, 6), ("en", english, 7)):
        assert sum(word.lower() in listed(code) for word in words) == count
        assert language_of(words) == code
    assert language_of(["deux", "hommes", "chantent", "près", "de", "la", "mer"]) is None
    assert language_of([]) is None
    run = TranslationRun(folder)
    known = function_words(run, "de", 100, "")
    assert known.source == "the list of German ones"
    assert [known.group(word) for word in ("Ein", "mädchen", "frau", "darunter", ".")] == [
        *("function words", "content words", "content words", "function words", "punctuation marks")
    ]


def test_shares_of_words_by_hand() -> None:
    groups = {"function words": [2, 4, 0], "content words": [1, 2, 2], "punctuation marks": [0, 0, 0]}
    kept = {"function words": [2, 2, 0], "content words": [0, 1, 1], "punctuation marks": [0, 0, 0]}
    columns: dict[str, Any] = {"function words from": ["a file"] * 3, **groups}
    for kind in ("uniform", "permuted", "dropped"):
        columns |= {f"{group} kept, {kind}": counts for group, counts in kept.items()}
    found = TranslationWords().conclude(pa.table(columns))
    assert found.summary["function words kept, uniform"].value == pytest.approx((1 + 0.5) / 2)
    assert found.summary["function words kept, uniform"].n == 2  # the third translation has none
    assert found.summary["content words kept, uniform"].value == pytest.approx((0 + 0.5 + 0.5) / 3)
    assert found.summary["kept, function − content, uniform"].value == pytest.approx((1 - 0 + 0.5 - 0.5) / 2)
    assert np.isnan(found.summary["punctuation marks kept, uniform"].value)
    assert "6 function words, 5 content words, 0 punctuation marks" in found.notes[0]


def test_subwords_are_joined_to_words() -> None:
    text = "zwei hunde, (drei) katzen."
    tokens = learn_tokens([text], TranslationText(tokenizer="subword", vocabulary=24, min_frequency=1))
    ids = tokens.ids(text)
    spans = word_spans(tokens, ids)
    assert [word for word, _, _ in spans] == ["zwei", "hunde", ",", "(", "drei", ")", "katzen", "."]
    assert len(ids) > len(spans)  # some words are spelled by several tokens
    for word, first, past in spans:
        assert "".join(tokens.names(ids[first:past])).replace("▁", "") == word
    assert word_spans(tokens, []) == []


def test_function_words_of_subwords_are_from_the_references(tmp_path: Path) -> None:
    run = TranslationRun(trained(tmp_path / "run", tokenizer="subword", vocabulary=40))
    subject = TranslationSubject(run, np.arange(len(run.translations)))
    (finding,) = hold_on_translation([TranslationWords(language="none", function_words=3)], subject)
    assert "Function words are from the 3 most frequent words of the test references." in finding.notes[0]
    words = [word for text in run.translations["reference"].to_pylist() for word in text.split()]
    often = sorted(set(words), key=lambda word: (-words.count(word), word))[:3]
    assert function_words(run, "none", 3, "").words == frozenset(often)


def test_damaged_counts_are_told(folder: Path) -> None:
    subject = subject_on(folder, "bahdanau", range(3))
    table = pa.table(dict(TranslationUniform().columns(subject, lambda done, total: None)))
    for damage in ("1 2 3", "one"):
        place = table.column_names.index("BLEU counts, uniform")
        broken = table.set_column(place, "BLEU counts, uniform", pa.array([damage] * 3))
        with pytest.raises(InputError, match="BLEU counts"):
            TranslationUniform().conclude(broken)


def test_trials_from_the_command_line(command: Command, folder: Path, tmp_path: Path) -> None:
    run = shutil.copytree(folder, tmp_path / "run")
    answer = command("trial", "all", run, "--json")
    assert answer.code == 0, answer.err
    found = [one["trial"] for one in json.loads(answer.out)]
    # the run is recurrent, and nobody has given links to align with
    assert found == [name for name in OF_TRANSLATION if name not in ("translation-layers", "alignment")]
    assert (run / "trials" / "translation-uniform" / "finding.json").exists()
    one = command("trial", "uniform", run, "--texts", 4)
    assert one.code == 0, one.err
    assert "BLEU, uniform" in one.out
    refused = command("trial", "layers", run)
    assert refused.code == 2
    assert "does not apply" in refused.err
    bad = command("trial", "words", run, "-o", f"words_file={tmp_path / 'nowhere'}")
    assert bad.code == 2
    assert "nowhere" in bad.err
    with pytest.raises(InputError, match="at least one of the kinds"):
        attentest.trial("layers", run, kinds=())

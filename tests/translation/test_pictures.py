"""A translation run shown: maps in Python and from the command line, and translations by weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tiny_translators import TINY, toy_corpus

import attentest
from attentest.errors import InputError
from attentest.translation.compare import COMPARED, OWN
from attentest.translation.run import TranslationRun

TEXT = "two big dogs run."


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> TranslationRun:
    small: dict[str, Any] = {**TINY, "hidden": 16, "heads": 2, "layers": 2, "wide": 16, "epochs": 1}
    folder = tmp_path_factory.mktemp("shown") / "tf"
    return attentest.train_translation(toy_corpus(60), folder, model="transformer", select_by="loss", **small)


def test_a_map_has_every_layer_and_head(run: TranslationRun) -> None:
    (one,) = run.translate(TEXT, with_weights=True)
    (shown,) = one.map("across.0", 1)
    assert shown.shown == "across.0 head 1"
    assert list(shown.views) == [
        f"across.{layer} {view}" for layer in (0, 1) for view in ("mean of heads", "head 0", "head 1")
    ]
    assert np.array_equal(shown.weights, one.weights["across.0"][1])
    assert np.allclose(one.map()[0].weights, one.weights["across.1"].mean(0))
    assert shown.weights.shape == (len(one.target_tokens), len(one.source_tokens))


def test_other_weights_are_shown_as_such(run: TranslationRun) -> None:
    (shown,) = run.attend(TEXT, weights="uniform")
    assert np.allclose(shown.weights, 1 / len(shown.columns))
    assert shown.about == "uniform weights"


def test_a_notebook_shows_a_translation_with_or_without_weights(
    run: TranslationRun, capsys: pytest.CaptureFixture[str]
) -> None:
    (bare,), (one,) = run.translate("two <b> dogs"), run.translate("two <b> dogs", with_weights=True)
    assert "two &lt;b&gt; dogs" in bare._repr_html_()
    assert "two &lt;b&gt; dogs" in one._repr_html_()
    assert 'class="view"' in one._repr_html_()
    one.show("across.0")
    assert "across.0 mean of heads" in capsys.readouterr().out
    bare.show()
    assert "two <b> dogs" in capsys.readouterr().out
    with pytest.raises(InputError, match="has no weights"):
        bare.show("across.0")


@pytest.mark.parametrize(
    ("site", "head", "said"),
    [
        ("encoder.0", None, "choose from: across.0, across.1"),
        ("across.9", None, "across."),
        ("across.0", 2, "are 0 to 1"),
    ],
)
def test_what_is_not_there_is_refused(run: TranslationRun, site: str, head: int | None, said: str) -> None:
    with pytest.raises(InputError, match=said):
        run.attend(TEXT, site=site, head=head)


def test_test_texts_are_chosen_by_id_or_at_random(run: TranslationRun) -> None:
    ids = run.translations["id"].to_pylist()
    assert [one.id for one in run.heatmaps(ids=[ids[2], ids[0]])] == [ids[2], ids[0]]
    assert [one.id for one in run.heatmaps(2)] == [one.id for one in run.heatmaps(2)]
    with pytest.raises(InputError, match="No test text has the id 'x'"):
        run.heatmaps(ids=["x"])
    with pytest.raises(InputError, match="n is 0"):
        run.heatmaps(0)


def test_compared_are_the_translations_of_each_kind(run: TranslationRun) -> None:
    texts = [TEXT, "a cat"]
    found = run.compare(texts, seed=3)
    assert [one.source for one in found] == texts
    for kind in (OWN, *COMPARED):
        alone = run.translate(texts, weights=None if kind == OWN else kind, seed=3)
        assert [one.translations[kind] for one in found] == [one.text for one in alone]
    assert found[0].as_dict() == {"source": TEXT, "translations": found[0].translations}


def test_the_commands(command: Callable[..., Any], run: TranslationRun, tmp_path: Path) -> None:
    said = command("show", run.path, "--text", TEXT, "--site", "across.0", "--head", 1, "--weights", "uniform")
    assert said.code == 0, said.err
    assert "uniform weights  across.0 head 1" in said.out
    files = tmp_path / "map.html", tmp_path / "map.svg"
    made = command("show", run.path, "-n", 2, "--html", files[0], "--svg", files[1], "--json")
    assert made.code == 0, made.err
    assert files[0].read_text(encoding="utf-8").count("<form") == 2
    ElementTree.fromstring(files[1].read_text(encoding="utf-8"))
    shown = json.loads(made.out.splitlines()[-1])
    assert [len(one["weights"]) for one in shown] == [len(one["target_tokens"]) for one in shown]

    compared = command("translate", run.path, "--text", TEXT, "--compare")
    assert compared.code == 0, compared.err
    assert [line.split()[0] for line in compared.out.splitlines()[1:6]] == [OWN, *COMPARED]
    page = tmp_path / "compared.html"
    assert command("translate", run.path, "--text", "a <i>cat", "--compare", "--out", page).code == 0
    assert "a &lt;i&gt;cat" in page.read_text(encoding="utf-8")
    scored = command("translate", run.path, "--test", "--compare", "--json")
    scores = json.loads(scored.out)["scores"]
    assert list(scores) == [OWN, *COMPARED]
    alone = json.loads(command("translate", run.path, "--test", "--json").out)["scores"]
    assert scores[OWN] == alone
    assert set(alone) == {"bleu", "chrf"}
    own, other = (command("show", run.path, "--text", TEXT, "--weights", "random", "--seed", n).out for n in (0, 5))
    assert own != other

    for arguments, message in (
        (("show", run.path, run.path, "--text", "a"), "give one run"),
        (("show", run.path, "--text", "a", "--second", "b"), "--second is for models of texts with labels"),
        (("show", run.path, "--text", "a", "--weights", "rollout"), "Unknown weights 'rollout'"),
        (("show", run.path, "--text", "a", "--site", "decoder.0"), "Unknown site"),
        (("show", run.path, "--text", " "), "is empty"),
        (
            ("translate", run.path, "--text", "a", "--compare", "--weights", "uniform"),
            "leave out --weights and --given",
        ),
        (("translate", run.path, "--text", "a", "--compare", "--out", tmp_path / "a.txt"), "must end in .html"),
    ):
        refused = command(*arguments)
        assert refused.code == 2, arguments
        assert message in refused.err, refused.err

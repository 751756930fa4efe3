"""A pretrained encoder looked at otherwise: special tokens counted, one head, another layer, other weights."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_encoders import BAD, GOOD
from tiny_folders import bert_folder
from tiny_tokenizers import SENTENCES

import attentest
from attentest.models.pretrained.model import Pretrained
from attentest.models.pretrained.view import View
from attentest.text.batches import Batch, make_batch
from attentest.text.items import NO_TEXT, merged, merged_marks
from attentest.text.pieces import PieceTokenizer
from attentest.text.prepare import TokenizedCorpus
from attentest.training.take import take_pretrained
from attentest.trials import subject_of
from attentest.trials.work import tokens_at_once

transformers = pytest.importorskip("transformers")
DECIDING = (*GOOD, *BAD, "goodly", "badly")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> attentest.Run:
    """Of pairs that are longer than the network reads, with token types; for reading only."""
    place = tmp_path_factory.mktemp("pairs")
    texts = {"text": list(SENTENCES), "second": list(reversed(SENTENCES)), "label": ["a", "b"] * 5}
    corpus = attentest.load({**texts, "split": ["test"] * 10}, name="pairs", second="second", split="split")
    labels: dict[str, Any] = {"id2label": {0: "a", 1: "b"}, "label2id": {"a": 0, "b": 1}}
    folder = bert_folder(place / "theirs", initializer_range=0.3, **labels)
    return attentest.open_run(take_pretrained(corpus, folder, place / "run").path)


@pytest.fixture(params=["texts", "pairs"])
def either(request: pytest.FixtureRequest, encoder_run: attentest.Run, pairs: attentest.Run) -> attentest.Run:
    return encoder_run if request.param == "texts" else pairs


def model_of(run: attentest.Run) -> Pretrained:
    assert isinstance(run.model, Pretrained)
    return run.model


def every(data: TokenizedCorpus) -> np.ndarray:
    return np.arange(len(data.rows))


def batch_of(run: attentest.Run) -> Batch:
    data = run.test_data()
    return make_batch(data, every(data))


def logits_of(run: attentest.Run) -> torch.Tensor:
    with torch.no_grad():
        encoded = model_of(run).encode(batch_of(run))
        return run.model.decode(encoded, run.model.attend(encoded))


def test_special_tokens_that_count_change_no_logit(either: attentest.Run) -> None:
    counted = logits_of(either.seen(View(special=True)))
    assert (counted - logits_of(either)).abs().max() <= 1e-5
    said = torch.tensor(either.predictions["probability"].to_pylist())
    assert (counted.softmax(-1) - said).abs().max() <= 1e-5


def test_items_are_the_pieces_and_the_special_tokens(either: attentest.Run) -> None:
    seen = either.seen(View(special=True)).test_data()
    usual = either.test_data()
    assert isinstance(either.tokenizer, PieceTokenizer)
    around = either.tokenizer.frame(pair=either.kind == "pair").ids
    assert len(around) == (3 if either.kind == "pair" else 2)
    for row, (more, own) in enumerate(zip(seen.items(every(seen)), usual.items(every(usual)), strict=True)):
        inside = more.texts != NO_TEXT
        assert [token for token, kept in zip(more.tokens, inside, strict=True) if kept] == list(own.tokens)
        ids = seen.sequences.ids[seen.sequences.offsets[row] : seen.sequences.offsets[row + 1]]
        assert ids[~inside].tolist() == list(around)
        assert either.vocabulary.ids(more.tokens).tolist() == ids.tolist()
        assert np.array_equal(seen.own_tokens(row), inside)


def test_special_tokens_are_part_of_no_rationale(encoder_run: attentest.Run) -> None:
    data = encoder_run.seen(View(special=True)).test_data()
    assert data.rationale is not None
    split = 0
    for row, items in enumerate(data.items(every(data))):
        marks = data.rationale[data.sequences.offsets[row] : data.sequences.offsets[row + 1]]
        assert not marks[items.texts == NO_TEXT].any()
        text = data.text(row)
        marked = [text[slice(*items.spans[i])] for i in np.flatnonzero(marks).tolist()]
        deciding = [word for word in text.split() if word in DECIDING]
        assert "".join(marked) == "".join(deciding)
        assert merged_marks(marks.tolist(), items.words) == [word in deciding for word in text.split()]
        split += len(marked) > len(deciding)
    assert split > 0  # words of two pieces were among them


@pytest.mark.parametrize("site", ["encoder.0", "encoder.1"])
@pytest.mark.parametrize("head", [0, 1])
def test_a_head_that_is_looked_at_is_the_only_one_that_changes(
    site: str, head: int, encoder_run: attentest.Run
) -> None:
    model, batch = model_of(encoder_run), batch_of(encoder_run)
    alone = model_of(encoder_run.seen(View(site=site, head=head)))
    last = site == model.sites[-1]

    def by_hand(_site: str, weights: torch.Tensor, _allowed: torch.Tensor) -> torch.Tensor:
        """[CLS] is read in the end; pieces follow it, and [SEP] comes after them."""
        changed = weights.clone()
        for text, length in enumerate(batch.mask.sum(1).tolist()):
            rows = changed[text, head, : 1 if last else None, 1 : 1 + length]
            rows[:] = rows.mean(-1, keepdim=True)
        return changed

    with torch.no_grad():
        encoded = alone.encode(batch)
        own = alone.attend(encoded)
        assert own[site].shape[1] == 1
        uniform = (batch.mask / batch.mask.sum(1, keepdim=True)).view(len(batch), *[1] * (own[site].ndim - 2), -1)
        found = alone.decode(encoded, {site: uniform.expand_as(own[site])})
        usual = alone.decode(encoded, own)
        assert (found - model.changed(batch, by_hand, [site])).abs().max() <= 1e-5
        assert (found - usual).abs().max() > 1e-3
        assert (usual - logits_of(encoder_run)).abs().max() <= 1e-5


def attentions(folder: Path, text: str) -> list[np.ndarray]:
    """Of the layers, mean over heads, as the library itself gives them."""
    network = transformers.AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="eager")
    tokens = transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt", return_token_type_ids=False)
    with torch.no_grad():
        found = network.eval()(**tokens, output_attentions=True).attentions
    return [each[0].mean(0).double().numpy() for each in found]


def test_heat_maps_by_rollout_are_those_of_the_library_s_attention(encoder_run: attentest.Run) -> None:
    seen = encoder_run.seen(View(weights="rollout"))
    texts = {row["id"]: row for row in encoder_run.predictions.to_pylist()}
    shown = seen.heatmaps(4)
    assert len(shown) == 4
    for heat in shown:
        row = texts[heat.id]
        assert (heat.text, heat.label, heat.shown) == (row["text"], row["label"], "weight, rollout")
        assert heat.probabilities == pytest.approx(row["probability"], abs=1e-5)
        passed = np.eye(len(attentions(encoder_run.path.parent / "theirs", heat.text)[0]))
        for layer in attentions(encoder_run.path.parent / "theirs", heat.text):
            passed = (layer + np.eye(len(layer))) / 2 @ passed
        pieces = passed[0, 1:-1] / passed[0, 1:-1].sum()
        words = encoder_run.tokenizer.items(heat.text, None, 99).words
        assert heat.weights == pytest.approx(merged(pieces, words).tolist(), abs=1e-5)
        assert heat.words == heat.text.split()
        assert heat.as_dict() != encoder_run.heatmaps(ids=[heat.id])[0].as_dict()


def test_heat_maps_of_a_head_and_a_layer(encoder_run: attentest.Run) -> None:
    """Of a layer below the last one, all rows count."""
    (heat,) = encoder_run.seen(View(site="encoder.0", head=1)).attend("the film was goodly")
    assert heat.shown == "weight, encoder.0, head 1"
    theirs = encoder_run.path.parent / "theirs"
    network = transformers.AutoModelForSequenceClassification.from_pretrained(theirs, attn_implementation="eager")
    tokens = transformers.AutoTokenizer.from_pretrained(theirs)(heat.text, return_tensors="pt")
    with torch.no_grad():
        rows = network.eval()(input_ids=tokens["input_ids"], output_attentions=True).attentions[0][0, 1, :, 1:-1]
    pieces = (rows.mean(0) / rows.mean(0).sum()).tolist()
    assert heat.weights == pytest.approx([*pieces[:3], sum(pieces[3:])], abs=1e-5)


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        (View(weights="rollout", site="encoder.0", head=1), "weight, encoder.0, head 1, rollout"),
        (View(weights="row", head=1), "weight, head 1"),
        (View(site="encoder.1"), "weight, encoder.1"),
        (View(special=True), "weight"),
    ],
)
def test_what_heat_maps_show_is_said(view: View, shown: str, encoder_run: attentest.Run) -> None:
    assert encoder_run.seen(view).attend("the film was goodly")[0].shown == shown


def test_heat_maps_show_words_however_special_tokens_are_counted(either: attentest.Run) -> None:
    row = either.predictions.to_pylist()[0]
    (usual,) = either.heatmaps(ids=[row["id"]])
    seen = either.seen(View(special=True))
    (heat,) = seen.heatmaps(ids=[row["id"]])
    assert (heat.words, heat.in_second) == (usual.words, usual.in_second)
    assert heat.weights == pytest.approx(usual.weights, abs=1e-5)


VIEWS = {
    "head-1": View(head=1),
    "rollout": View(weights="rollout"),
    "special": View(special=True),
    "head-0-norms-special": View(head=0, weights="norms", special=True),
}


def test_findings_of_views_never_take_the_place_of_the_usual_one(encoder_run: attentest.Run, tmp_path: Path) -> None:
    mine = attentest.open_run(shutil.copytree(encoder_run.path, tmp_path / "run"))
    usual = mine.trial("uniform", texts=6)
    folder = mine.path / "trials" / "uniform"
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    values = {"": usual.summary}
    for name, view in VIEWS.items():
        found = mine.seen(view).trial("uniform", texts=6)
        assert found.signature["view"] == name
        values[name] = found.summary
    at_layer = mine.seen(VIEWS["head-1"]).trial("uniform", texts=6, site="encoder.0")
    assert "view" not in usual.signature
    names = [*(f"uniform-{name}" for name in VIEWS), "uniform-encoder.0-head-1"]
    assert {one.name for one in folder.parent.iterdir()} == {"uniform", *names}
    assert at_layer.signature["site"] == "encoder.0"
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    figures = [tuple((key, one.value) for key, one in found.items()) for found in values.values()]
    assert len(set(figures)) >= 4  # rollout changes what is shown, and not what is changed


@pytest.mark.parametrize("name", ["layers", "unidentified"])
def test_trials_of_all_layers_have_no_other_view(name: str, encoder_run: attentest.Run) -> None:
    with pytest.raises(attentest.InputError, match=f"{name} looks at every layer and head"):
        encoder_run.seen(View(head=0)).trial(name, texts=2)


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (View(head=2), "head is 2; the heads of this model are 0 to 1"),
        (View(head=-1), "head is -1"),
        (View(site="encoder.7"), "encoder.7"),
        (View(weights="rolout"), "rollout"),
    ],
)
def test_what_is_not_there_cannot_be_looked_at(view: View, said: str, encoder_run: attentest.Run) -> None:
    with pytest.raises(attentest.InputError, match=said):
        encoder_run.seen(view)


def test_other_models_have_no_views(run: attentest.Run) -> None:
    with pytest.raises(attentest.InputError, match="is no pretrained encoder"):
        run.seen(View(head=0))


def test_memory_bounds_the_texts_of_an_encoder(encoder_run: attentest.Run) -> None:
    def at_once(run: attentest.Run, memory: int | None) -> int:
        return tokens_at_once(subject_of(run, memory=memory), {})

    longest = int(subject_of(encoder_run).lengths.max())
    costs = model_of(encoder_run).costs(longest)
    assert costs.added == 3  # as many as around a pair
    assert at_once(encoder_run, 1) == longest + 3
    assert at_once(encoder_run, 3 * (longest + 3) * costs.token) == 3 * (longest + 3)
    assert at_once(encoder_run, None) > 3 * (longest + 3)
    assert at_once(encoder_run.seen(View(special=True)), 1) == longest + 2  # they are tokens of the text then

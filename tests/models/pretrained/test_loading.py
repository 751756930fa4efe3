"""Pretrained classifiers from folders: what they are given is what they were made for, and what cannot be used is
refused with the reason."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_folders import bert_folder, gpt_folder, roberta_folder
from tiny_tokenizers import SENTENCES, byte_pieces

from attentest.corpora import build_corpus
from attentest.errors import InputError
from attentest.models.pretrained import loading
from attentest.models.pretrained.heads import outputs_of
from attentest.models.pretrained.inspection import apart_by_padding, inspect_network, probe
from attentest.models.pretrained.loading import load_encoder, load_pretrained
from attentest.text.batches import make_batch
from attentest.text.pieces import PieceTokenizer
from attentest.text.prepare_pieces import tokenize_pieces

transformers = pytest.importorskip("transformers", minversion="5")

CLASSES = ["0", "1"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bert_folder(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def copy(bert: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bert, tmp_path / "copy"))


def refused(source: str | Path, classes: list[str] | None = None, **more: Any) -> str:
    with pytest.raises(InputError) as caught:
        load_pretrained(source, classes or CLASSES, **more)
    return str(caught.value)


def changed(folder: Path, **values: Any) -> Path:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | values), encoding="utf-8")
    return folder


@pytest.mark.parametrize("make", [bert_folder, roberta_folder, gpt_folder])
@pytest.mark.parametrize("pair", [False, True])
def test_logits_are_those_of_the_pipeline_of_transformers(
    tmp_path: Path, make: Callable[[Path], Path], pair: bool
) -> None:
    folder = make(tmp_path)
    loaded = load_pretrained(folder, CLASSES)
    seconds = list(reversed(SENTENCES))
    columns: dict[str, Any] = {"text": list(SENTENCES), "label": [0, 1] * 5, **({"second": seconds} if pair else {})}
    corpus = build_corpus("x", columns, kind="pair" if pair else "single")
    kind = corpus.kind
    data = tokenize_pieces(corpus, loaded.tokenizer, max_tokens=loaded.layout.room(kind))
    inputs = loaded.layout.lay_out(make_batch(data, np.arange(10)))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.no_grad():
        found = loaded.network(**inputs.arguments).logits
        for row in range(10):  # one by one: without padding
            texts = (SENTENCES[row], seconds[row]) if pair else (SENTENCES[row],)
            given = tokenizer(*texts, truncation=True, max_length=loaded.layout.longest, return_tensors="pt")
            assert torch.allclose(found[row], network(**given).logits[0], atol=1e-5)
    assert not loaded.network.training


def test_the_layout_of_a_bert(bert: Path) -> None:
    layout = load_pretrained(bert, CLASSES).layout
    assert (layout.single.prefix, layout.pair.middle, layout.pair.suffix) == ((2,), (3,), (3,))
    assert (layout.pad, layout.mask, layout.side, layout.typed) == (0, 4, "right", True)
    assert layout.longest == 40  # of the network, which has fewer positions than the tokenizer says


def test_the_layout_of_a_roberta_counts_positions_from_behind_the_padding(tmp_path: Path) -> None:
    layout = load_pretrained(roberta_folder(tmp_path), CLASSES).layout
    assert layout.longest == 40
    assert (layout.pad, layout.side, layout.typed) == (1, "right", False)


def test_a_decoder_without_padding_gets_a_token_for_it(tmp_path: Path) -> None:
    loaded = load_pretrained(gpt_folder(tmp_path), CLASSES)
    assert loaded.layout.pad == 2
    assert loaded.network.config.pad_token_id == 2
    assert loaded.notes == ("The model has no token for padding; '</s>' is used.",)


def test_weights_of_half_precision_are_read_as_they_are_asked_for(copy: Path) -> None:
    transformers.AutoModelForSequenceClassification.from_pretrained(copy).bfloat16().save_pretrained(copy)
    assert load_pretrained(copy, CLASSES).network.dtype == torch.float32
    assert load_pretrained(copy, CLASSES, dtype=torch.bfloat16).network.dtype == torch.bfloat16


def test_transformers_is_quiet_and_stays_as_it_was(copy: Path, capfd: pytest.CaptureFixture[str]) -> None:
    level = transformers.utils.logging.get_verbosity()
    load_encoder(copy, ["a", "b", "c"])
    assert capfd.readouterr() == ("", "")
    assert transformers.utils.logging.get_verbosity() == level
    assert transformers.utils.logging.is_progress_bar_enabled()


# labels


def test_labels_are_matched_by_name_whatever_their_case_and_order() -> None:
    assert outputs_of(["Neutral", "POSITIVE", "negative"], ["negative", "neutral", "positive"], None)[0] == (2, 0, 1)


def test_numbered_labels_match_numbered_classes() -> None:
    assert outputs_of(["LABEL_0", "LABEL_1"], ["1", "0"], None) == ((1, 0), [])


def test_a_mapping_of_labels_can_be_given() -> None:
    given = {"label_0": "pos", "LABEL_1": "neg"}
    assert outputs_of(["LABEL_0", "LABEL_1"], ["neg", "pos"], given) == ((1, 0), [])


def test_one_output_is_the_logit_of_the_second_class_unless_it_has_a_name() -> None:
    note = "The head has one output; it is taken for the logit of 'pos'."
    assert outputs_of(["LABEL_0"], ["neg", "pos"], None) == ((-1, 0), [note])
    assert outputs_of(["LABEL_0"], ["neg", "pos"], {"LABEL_0": "neg"}) == ((0, -1), [])
    assert outputs_of(["Pos"], ["neg", "pos"], None) == ((-1, 0), [])


def test_labels_that_do_not_match_the_head(bert: Path) -> None:
    message = refused(bert, ["bad", "good"])
    assert message == (
        "The model's labels are LABEL_0, LABEL_1, the classes of the corpus bad, good; none of the labels is 'bad'. "
        "Say with `labels` which one it is, and so for each class."
    )
    loaded = load_pretrained(bert, ["bad", "good"], {"LABEL_0": "good", "LABEL_1": "bad"})
    assert loaded.classes_of_head == (1, 0)
    assert "2 and 3. Choose a model that was trained for these classes" in refused(bert, ["a", "b", "c"])
    assert "Unknown label of the model in `labels` 'LABEL_7'" in refused(bert, ["a", "b"], labels={"LABEL_7": "a"})
    assert "Unknown class of the corpus in `labels` 'c'" in refused(bert, ["a", "b"], labels={"LABEL_0": "c"})
    both = {"LABEL_0": "a", "LABEL_1": "a"}
    assert "gives two labels of the model the class 'a'" in refused(bert, ["a", "b"], labels=both)


@pytest.mark.parametrize("problem", ["regression", "multi_label_classification"])
def test_a_model_of_another_problem(copy: Path, problem: str) -> None:
    assert f"its problem_type is {problem}" in refused(changed(copy, problem_type=problem))


# bad folders


@pytest.mark.parametrize("model", ["Model", "ForMaskedLM"])
def test_an_encoder_without_a_head_is_told_to_finetune(tmp_path: Path, model: str) -> None:
    message = refused(bert_folder(tmp_path, model=model))
    assert "has no classification head" in message
    assert "attentest finetune" in message


@pytest.mark.parametrize("model", ["Model", "ForMaskedLM"])
def test_an_encoder_gets_a_head_to_be_fine_tuned(tmp_path: Path, model: str) -> None:
    loaded = load_encoder(bert_folder(tmp_path, model=model), ["a", "b", "c"])
    assert loaded.network.config.id2label == {0: "a", 1: "b", 2: "c"}
    assert loaded.classes_of_head == (0, 1, 2)
    assert loaded.notes == ()
    loaded.network.save_pretrained(tmp_path / "saved")
    shutil.copy(tmp_path / "tokenizer.json", tmp_path / "saved")
    shutil.copy(tmp_path / "tokenizer_config.json", tmp_path / "saved")
    assert load_pretrained(tmp_path / "saved", ["c", "b", "a"]).classes_of_head == (2, 1, 0)


def test_a_head_of_another_size_is_replaced_and_one_that_fits_is_kept(bert: Path) -> None:
    assert load_encoder(bert, ["a", "b", "c"]).network.classifier.weight.shape == (3, 16)
    kept = load_encoder(bert, ["a", "b"])
    original = load_pretrained(bert, CLASSES).network.classifier.weight
    assert torch.equal(kept.network.classifier.weight, original)
    assert "has a head for 2 classes" in kept.notes[0]


def test_a_folder_that_is_not_complete(copy: Path) -> None:
    more = changed(copy, num_hidden_layers=3)
    assert "is not complete: 16 tensors are missing" in refused(more)
    with pytest.raises(InputError, match="is not complete"):
        load_encoder(more, CLASSES)


def test_a_pickle_is_refused_by_name_and_not_opened(copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    (copy / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    message = refused(copy)
    assert "has its weights in pytorch_model.bin, a format that can run code when it is read" in message
    assert "safetensors" in message
    (copy / "pytorch_model.bin").unlink()
    assert "has no weights: there is no model.safetensors" in refused(copy)


def test_code_in_the_folder_is_never_executed(copy: Path) -> None:
    (copy / "theirs.py").write_text("raise SystemExit('executed')", encoding="utf-8")
    changed(copy, model_type="theirs", auto_map={"AutoConfig": "theirs.Config"})
    assert "brings Python code of its own, which is never executed" in refused(copy)


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    assert refused(tmp_path).endswith("is not the folder of a pretrained model: it has no config.json.")
    (tmp_path / "adapter_config.json").write_text("{}", encoding="utf-8")
    assert "It is an adapter: merge it into its model" in refused(tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "is a file; give the folder" in refused(str(tmp_path / "file"))
    for name in (tmp_path / "none", "./none", "~/none", "a/b/c"):
        assert refused(name).endswith("there is no such folder.")


@pytest.mark.parametrize("content", ["{}", "no json", '{"model_type": "nothing"}', "[1]", '{"model_type": 3}'])
def test_a_config_that_is_none(copy: Path, content: str) -> None:
    (copy / "config.json").write_text(content, encoding="utf-8")
    assert "cannot be read as a pretrained model" in refused(copy)


def test_a_config_of_something_that_classifies_no_texts(copy: Path) -> None:
    assert "no text classifier of the architecture 'vit'" in refused(changed(copy, model_type="vit"))


def test_damaged_weights(copy: Path) -> None:
    (copy / "model.safetensors").write_bytes(b"junk" * 100)
    assert "cannot be read as a pretrained model" in refused(copy)


def test_weights_of_other_sizes_than_the_config_says(copy: Path) -> None:
    assert "cannot be read as a pretrained model" in refused(changed(copy, hidden_size=32))


def test_a_folder_without_a_tokenizer(copy: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (copy / name).unlink()
    assert "has no tokenizer: save it to the same folder" in refused(copy)


@pytest.mark.parametrize("vectors", [20, 500])
def test_a_tokenizer_that_does_not_match(tmp_path: Path, vectors: int) -> None:
    message = refused(bert_folder(tmp_path, vocab_size=vectors))
    assert f"does not match the model: it has 73 tokens, and the model has vectors for {vectors}" in message


def test_a_damaged_tokenizer(copy: Path) -> None:
    (copy / "tokenizer.json").write_text('{"model": {}}', encoding="utf-8")
    assert "cannot be read" in refused(copy)


def test_without_a_network_the_local_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def offline(*_: Any, **__: Any) -> str:
        raise huggingface_hub.errors.LocalEntryNotFoundError("no network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    message = refused("someone/bert")
    assert message == (
        "'someone/bert' is no folder here, and the model could not be fetched from the hub (LocalEntryNotFoundError). "
        "Download it where there is a network and give the path of its folder."
    )


def test_a_name_on_the_hub_is_fetched_without_pickles_and_code(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked: dict[str, Any] = {}

    def fetched(name: str, allow_patterns: list[str]) -> str:
        asked.update(name=name, patterns=allow_patterns)
        return str(bert)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetched)
    assert load_pretrained("someone/bert", CLASSES).classes_of_head == (0, 1)
    assert asked["name"] == "someone/bert"
    assert not {"*.bin", "*.py", "*.pt"} & set(asked["patterns"])


def test_a_name_that_cannot_be_one() -> None:
    assert refused("no model!") == "'no model!' is no folder here, and no public model on the hub has this name."


def test_trust_remote_code_is_never_set() -> None:
    source = Path(loading.__file__).read_text(encoding="utf-8")
    assert "trust_remote_code=True" not in source
    assert source.count("trust_remote_code=False") == source.count(".from_pretrained(") == 3


def test_padding_goes_where_texts_are_read_as_they_are_alone(tmp_path: Path) -> None:
    folder = gpt_folder(tmp_path)  # whose positions are counted from the padding on
    transformers.AutoTokenizer.from_pretrained(folder, padding_side="left").save_pretrained(folder)
    assert transformers.AutoTokenizer.from_pretrained(folder).padding_side == "left"
    loaded = load_pretrained(folder, CLASSES)
    assert loaded.layout.side == "right"
    assert apart_by_padding(loaded.network, loaded.layout) < 1e-5
    assert apart_by_padding(loaded.network, replace(loaded.layout, side="left")) > 1e-3


def test_a_token_for_padding_is_none_that_texts_end_in(tmp_path: Path) -> None:
    folder = gpt_folder(tmp_path)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=PieceTokenizer(byte_pieces().definition).backend, eos_token="</s>"
    ).save_pretrained(folder)  # puts </s> behind each text
    loaded = load_pretrained(folder, CLASSES)
    assert loaded.layout.single.suffix == (2,)
    assert loaded.layout.pad not in loaded.layout.single.ids
    about = inspect_network(loaded.network, probe(loaded.network, loaded.layout))
    assert about.decision == "last"


def test_sizes_that_are_not_those_of_the_config_are_told(copy: Path) -> None:
    assert "other sizes than config.json says" in refused(changed(copy, intermediate_size=99))


def test_layers_that_the_config_leaves_out_are_told(copy: Path) -> None:
    assert "more layers than config.json says: bert.encoder.layer.1" in refused(changed(copy, num_hidden_layers=1))
    with pytest.raises(InputError, match="more layers"):
        load_encoder(copy, CLASSES)

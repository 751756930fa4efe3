"""The benchmarks compare the same work: the twin starts as the same model, and figures are written as promised."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks import __main__ as bench
from benchmarks import scene
from benchmarks import stacked as stacked_benchmark
from benchmarks.memory import LIMIT, ROWS, peak_memory, write_corpus
from benchmarks.row import Row, fair_clock
from benchmarks.stacked import side_by_side
from benchmarks.training import DIMENSION, Twin, Work, made_up

from attentest.models import Classifier, ModelSettings
from attentest.text.batches import make_batch
from attentest.training.optimizer import PaperOptimizer
from attentest.translation.data import make_pairs
from attentest.translation.search import shifted


def test_the_twin_of_training_is_the_same_model() -> None:
    data = made_up(Work("small", rows=60, mean=19, longest=50, epochs=1, target=1))
    model = Classifier(ModelSettings(), 0.1 * torch.randn(len(data.vocabulary), DIMENSION), 2)
    batch = make_batch(data, np.arange(20))
    ours, _ = model(batch)
    assert torch.allclose(ours[:, 1], Twin(model).logits(batch.ids, batch.mask), atol=1e-5)


def test_the_recurrence_of_a_stack_has_its_gradients() -> None:
    """The second LSTM ends a step before the first."""
    generator = torch.Generator().manual_seed(0)
    products = torch.randn(3, 2, 2, 8, dtype=torch.float64, generator=generator, requires_grad=True)
    recurrent = torch.randn(2, 2, 8, dtype=torch.float64, generator=generator, requires_grad=True)
    assert torch.autograd.gradcheck(lambda p, r: side_by_side(p, r, [2, 2, 1]), (products, recurrent))


def test_a_stack_trains_the_same_models() -> None:
    """The last parameters that a step changes say it for all; Adam makes rounding of tiny gradients large in others."""
    data = made_up(Work("small", rows=300, mean=19, longest=50, epochs=1, target=1))
    singly, stacked = (stacked_benchmark._models(data, 20) for _ in range(2))
    optimizers = [PaperOptimizer(model, 1e-3, 1e-3, 1e-5) for model in singly]
    stacked_benchmark._epochs(singly, optimizers, data, 0, 3)
    stacked_benchmark.Stack(stacked).epoch(data, 0, 3)
    for one, other in zip(singly, stacked, strict=True):
        mine, theirs = dict(one.named_parameters()), dict(other.named_parameters())
        assert torch.allclose(mine["decoder.weight"], theirs["decoder.weight"], atol=1e-5)
        name = "encoder.forwards.bias_ih_l0"
        assert torch.allclose(mine[name], theirs[name], atol=1e-4)
        # a step moves a number by at most the learning rate
        assert float((one.embedding.weight - other.embedding.weight).detach().abs().mean()) < 1e-7


def test_table_and_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    row = Row("name", "work", 1.0, 3.0, 3.0, 2.0)
    monkeypatch.setattr(bench, "_benchmark", lambda name: lambda: [row])
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "__main__.py"))
    assert bench.main(["name"]) == 0
    written = json.loads((tmp_path / "latest.json").read_text(encoding="utf-8"))
    assert written["rows"] == [{"name": "name", "work": "work", "ours": 1.0, "twin": 3.0, "ratio": 3.0, "target": 2.0}]
    printed = capsys.readouterr().out
    assert "ratio    3.00" in printed
    assert written["capability"] == torch.backends.cpu.get_cpu_capability()
    assert f"CPU capability {written['capability']}" in printed


def test_a_lesser_capability_runs_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[list[str], dict[str, str]]] = []

    def start(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        started.append((command, env))
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(subprocess, "run", start)
    assert bench.main(["--capability", "avx2", "kendall-sst"]) == 3
    [(command, env)] = started
    assert command == [sys.executable, "-m", "benchmarks", "kendall-sst"]
    assert env["ATEN_CPU_CAPABILITY"] == "avx2"


def test_both_sides_are_timed_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene, "best_threads", lambda work: 1)
    order: list[str] = []
    ours, twin = scene.in_turns(lambda: order.append("ours"), lambda: order.append("twin"))
    assert order == ["ours", "twin"] * scene.REPEATS
    assert ours.threads == twin.threads == 1
    assert fair_clock(1, 1) is time.process_time
    assert fair_clock(1, 2) is time.perf_counter


def test_unknown_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["training-sts"]) == 2
    assert "did you mean 'training-sst'" in capsys.readouterr().err


def test_every_benchmark_can_be_found() -> None:
    assert all(callable(bench._benchmark(name)) for name in bench.BENCHMARKS)


@pytest.mark.parametrize("name", ["one_site", "row_permutations"])
def test_both_sides_of_self_attention_do_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")
    from benchmarks import self_attention as bench

    size = {"hidden_size": 16, "num_hidden_layers": bench.LAYERS, "num_attention_heads": 2, "intermediate_size": 24}
    net = transformers.BertForSequenceClassification(transformers.BertConfig(**size)).eval()
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, 0, 0.5)
    monkeypatch.setattr(bench, "network", lambda: (net, "tiny"))
    monkeypatch.setattr(bench, "REPEATS", 1)
    [row] = getattr(bench, name)()
    apart = re.search(r"logits differ by at most (\S+)[;]?", f"{row.work};")
    assert apart is not None
    assert float(apart[1].rstrip(";")) < 1e-5
    weights, allowed = torch.tensor([[[0.5, 0.3, 0.2, 0.0]]]), torch.tensor([[[True, True, True, False]]])
    variants = bench._permuted(weights, allowed)
    assert (variants[..., 3] == 0).all()
    assert torch.equal(variants.sort(-1).values, weights.sort(-1).values.unsqueeze(1).expand_as(variants))


def test_the_peer_gets_the_same_network(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers")
    from benchmarks import peers

    monkeypatch.setattr(peers, "SIZE", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 16})
    monkeypatch.setattr(peers, "TOKENS", 5)
    at = peers.pair.__wrapped__()
    assert at.tokenizer(at.texts)["input_ids"] == at.batch.ids.tolist()
    with torch.no_grad():
        wanted = at.language_model(at.batch.ids)
        found, _ = at.model(at.batch)
    assert torch.allclose(found, wanted.logits[:, -1], atol=1e-5)
    words = [at.tokenizer.convert_tokens_to_ids(text.split()[-1]) for text in at.continued]
    assert words == found.argmax(-1).tolist()
    assert {tuple(each.shape) for each in peers._our_attention(at)} == {(5, 2, 2)}
    assert all(torch.allclose(each.sum(0), torch.ones(2, 2)) for each in peers._our_attention(at))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert peers.attention() == []
    assert "inseq is not installed" in capsys.readouterr().out


@pytest.mark.slow
def test_a_million_rows_stay_under_two_gigabytes(tmp_path: Path) -> None:
    write_corpus(tmp_path / "million.csv", ROWS)
    rows, peak = peak_memory(tmp_path / "million.csv")
    assert rows == ROWS
    assert peak < LIMIT


def test_the_plain_twin_of_translation_gives_the_same_logits() -> None:
    from benchmarks import translation as bench

    data = bench.made_up()
    model = bench._model(data).eval()
    places = data.of_split("train")[:5]
    batch = make_pairs(data, places)
    sources = batch.sources
    with torch.no_grad():
        ours = model.project(model.forced(model.encode(sources.ids, sources.mask), shifted(batch.targets)))
        theirs = bench.Twin(model).logits(sources.ids, sources.mask, batch.targets)
    # float32 in products of other shapes
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-4)

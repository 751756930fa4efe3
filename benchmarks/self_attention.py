"""Interventions on a network of MiniLM's size (6 layers, 384), against running the whole of it again.

All sides have one thread, and processor time counts. The real MiniLM is used where `make real-models` has put it; one
with random weights takes the same time.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor, nn

from attentest.importance.erasure import removed_probabilities
from attentest.models.pretrained.layers import from_layer, keeping, reusable
from attentest.models.pretrained.layout import Layout
from attentest.models.pretrained.model import Pretrained
from attentest.models.pretrained.replaced import find_sites, replaced
from attentest.models.pretrained.rows import decide, read_row
from attentest.text.batches import Batch, make_batch, training_batches
from attentest.text.pieces import Frame
from attentest.training.fine_tuning import FineTuningOptimizer
from attentest.training.fit import training_step
from attentest.training.frozen import freeze, kept
from attentest.training.objectives import Labels
from attentest.training.predict import Around, as_it_is
from benchmarks.real_models import models_folder
from benchmarks.row import Row
from benchmarks.scene import REPEATS, with_threads
from benchmarks.training import Work, made_up

Inputs = dict[str, Tensor]
LAYERS, WORDS, CLASSES = 6, 30_522, 2
LAST = f"encoder.{LAYERS - 1}"
TEXTS, TOKENS = 32, 45
PERMUTATIONS = 100
MEMORY = 0.25  # GB


@cache
def network() -> tuple[nn.Module, str]:
    """A classifier with a random head, and whose weights it has."""
    import transformers

    folder = models_folder() / "minilm"
    kind = transformers.BertForSequenceClassification
    torch.manual_seed(0)
    if folder.is_dir():
        return kind.from_pretrained(folder, num_labels=CLASSES).eval(), "MiniLM"
    size = {"hidden_size": 384, "num_hidden_layers": LAYERS, "num_attention_heads": 12, "intermediate_size": 1536}
    return kind(transformers.BertConfig(**size, num_labels=CLASSES)).eval(), "MiniLM's size, random weights"


def texts(count: int, tokens: int) -> Inputs:
    """Random pieces; texts are from half of this length to all of it, and padded."""
    chance = torch.Generator().manual_seed(0)
    lengths = torch.linspace(tokens, tokens // 2, count).round().long()
    mask = (torch.arange(tokens) < lengths.unsqueeze(1)).long()
    return {"input_ids": torch.randint(1000, WORDS, (count, tokens), generator=chance) * mask, "attention_mask": mask}


def one_site() -> list[Row]:
    """Uniform weights at the last layer, with the states below kept."""
    net, whose = network()
    inputs = texts(TEXTS, TOKENS)
    stack = _stack(net)
    with torch.inference_mode():
        with keeping(stack) as states:
            net(**inputs)

        def above() -> Tensor:
            with from_layer(stack, LAYERS - 1, states):
                return whole()

        def whole() -> Tensor:
            with replaced(net, _uniform, [LAST]):
                return _logits(net, inputs)

        apart = float((above() - whole()).abs().max())
        ours, twin = _in_turns(above, whole)
    said = f"{TEXTS} texts of at most {TOKENS} tokens, {whose}; logits differ by at most {apart:.0e}"
    return [Row("one-site", said, ours, twin, twin / ours, 4)]


def row_permutations() -> list[Row]:
    """All permutations of the decision token's row, the run that reads it counted; the twin is timed on a few."""
    net, whose = network()
    inputs = texts(TEXTS, TOKENS)
    stack, first = _stack(net), torch.zeros(TEXTS, dtype=torch.long)
    some = 3
    with torch.inference_mode():
        own = read_row(net, stack, inputs, first)
        variants = _permuted(own.weights, own.allowed)

        def ours() -> Tensor:
            return decide(net, stack, read_row(net, stack, inputs, first), variants)

        def twin() -> Tensor:
            found = []
            for number in range(some):

                def change(_site: str, weights: Tensor, _allowed: Tensor, number: int = number) -> Tensor:
                    changed = weights.clone()
                    changed[:, :, 0] = variants[:, number]
                    return changed

                with replaced(net, change, [LAST]):
                    found.append(_logits(net, inputs))
            return torch.stack(found, 1)

        apart = float((ours()[:, :some] - twin()).abs().max())
        mine, theirs = _in_turns(ours, twin)
        alone = median(_taken(lambda: decide(net, stack, own, variants)) for _ in range(REPEATS))
    theirs *= PERMUTATIONS / some
    said = (
        f"{PERMUTATIONS} permutations of the last layer's decision row of {TEXTS} texts, {whose}; logits differ by at "
        f"most {apart:.0e}; without the run that reads the row: ratio {theirs / alone:.0f}; twin timed on {some}"
    )
    return [Row("row-permutations", said, mine, theirs, theirs / mine, 50)]


def leave_one_out(tokens: int, target: float | None) -> list[Row]:
    """The twin runs the network again for each position, one text at a time, and is timed on some positions."""
    net, whose = network()
    ids = texts(1, tokens)["input_ids"]
    batch = Batch(ids, torch.ones_like(ids, dtype=torch.bool), np.zeros(1, int))
    model = Pretrained(net, _layout(), range(CLASSES))
    some = range(0, tokens, tokens // 16)

    def twin() -> Tensor:
        left = [torch.cat((ids[:, :place], ids[:, place + 1 :]), 1) for place in some]
        shorter = [replace(batch, ids=each, mask=torch.ones_like(each, dtype=torch.bool)) for each in left]
        with torch.inference_mode():
            found = [_logits(net, _layout().lay_out(each).arguments).softmax(-1) for each in shorter]
        return torch.cat(found)

    apart = float((removed_probabilities(model, batch)[0, list(some)] - twin()).abs().max())
    mine, theirs = _in_turns(lambda: removed_probabilities(model, batch), twin)
    theirs *= tokens / len(some)
    said = f"every token of a text of {tokens}, {whose}; probabilities differ by at most {apart:.0e}"
    return [Row(f"leave-one-out-{tokens}-tokens", said, mine, theirs, theirs / mine, target)]


def frozen_layers(count: int) -> list[Row]:
    """Three epochs of the upper layers, with the states below computed once; the twin trains all layers."""
    data = made_up(Work("made up", rows=64, mean=35, longest=50, epochs=3, target=0))
    rows = np.arange(len(data.rows))

    def train(model: Pretrained, frozen: int) -> None:
        with TemporaryDirectory() as folder, ExitStack() as stack:
            around: Around = as_it_is
            if frozen:
                part = freeze(model, frozen, make_batch(data, rows[:2]))
                states = kept(part, data, rows, Path(folder), torch.device("cpu"), lambda done, total: None)
                around = stack.enter_context(states)
            optimizer = FineTuningOptimizer(model, 5e-5, 0.01, steps=6, texts=32)
            for epoch in range(3):
                model.train()
                for batch in training_batches(data, rows, 32, np.random.default_rng(epoch)):
                    training_step(model, optimizer, batch, Labels(torch.ones(CLASSES)), around)

    def taken(frozen: int) -> float:
        model = Pretrained(deepcopy(network()[0]), _layout(), range(CLASSES))
        return _taken(lambda: train(model, frozen))

    turns = [(taken(count), taken(0)) for _ in range(3)]
    ours, twin = (median(side) for side in zip(*turns, strict=True))
    said = (
        f"three epochs of {len(rows)} texts of {data.sequences.lengths.mean():.0f} tokens, the lower {count} of "
        f"{LAYERS} layers frozen, {network()[1]}; the twin trains all of them"
    )
    return [Row(f"frozen-layers-{count}", said, ours, twin, twin / ours, 2)]


def one_eager_site() -> list[Row]:
    """Looking at the weights of one layer of long texts, against the library's default without a look."""
    net, whose = network()
    inputs = texts(4, 512)
    with torch.inference_mode():

        def ours() -> Tensor:
            with replaced(net, lambda site, weights, allowed: None, [LAST]):
                return _logits(net, inputs)

        def eager() -> Tensor:
            with replaced(net, lambda site, weights, allowed: None):
                return _logits(net, inputs)

        mine, default = _in_turns(ours, lambda: _logits(net, inputs))
        everywhere = median(_taken(eager) for _ in range(3))
    said = (
        f"4 texts of at most 512 tokens, {whose}; takes {mine / default:.2f} times the default, eager everywhere "
        f"{everywhere / default:.2f} times"
    )
    return [Row("one-eager-site", said, mine, default, default / mine, 1 / 1.3)]


_PEAK = """
import re, sys
from pathlib import Path
import numpy as np, torch
from attentest.trials import Subject, hold, make_trial
from benchmarks.self_attention import CLASSES, Pretrained, Work, _layout, made_up, network, texts
def peak(): return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 2**20
torch.set_num_threads(1)
model = Pretrained(network()[0], _layout(), range(CLASSES))
data = made_up(Work("made up", rows=200, mean=35, longest=50, epochs=1, target=0))
with torch.inference_mode():
    model.network(**texts(1, 50))
before = peak()
memory = int(float(sys.argv[1]) * 2**30)
hold([make_trial(sys.argv[2])], Subject(model, data, np.arange(int(sys.argv[3])), memory=memory))
print(before, peak())
"""


def memory() -> list[Row]:
    """What trials add to the peak of the network reading one text, each in a process of its own.

    The peak is that of the process's own memory (VmHWM): what getrusage says begins with the size of the parent.
    """
    return [_peak("permutation", 200), _peak("overlap", 40)]  # variants of weights; copies of texts and gradients


def _peak(trial: str, count: int) -> Row:
    command = [sys.executable, "-c", _PEAK, str(MEMORY), trial, str(count)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    before, peak = map(float, out.split()[-2:])
    said = (
        f"GB that the trial {trial} adds for {count} texts under a memory of {MEMORY} GB, {network()[1]}; the network "
        f"and one text take {before:.2f} GB"
    )
    return Row(f"memory-gb-{trial}", said, peak - before, MEMORY, MEMORY / (peak - before), 1)


@cache
def _layout() -> Layout:
    """[CLS] and [SEP] around a text, as BERT has them."""
    frame = Frame(prefix=(101,), middle=(), suffix=(102,), types=(0, 0, 0))
    return Layout(single=frame, pair=frame, pad=0, longest=512)


@cache
def _stack(net: nn.Module) -> nn.ModuleList:
    inputs = texts(3, 7)
    stack = reusable(net, inputs, find_sites(net, inputs))
    assert stack is not None
    return stack


def _logits(net: nn.Module, inputs: Inputs) -> Tensor:
    logits: Tensor = net(**inputs).logits
    return logits


def _uniform(_site: str, weights: Tensor, allowed: Tensor) -> Tensor:
    return allowed / allowed.sum(-1, keepdim=True).to(weights.dtype)


def _permuted(weights: Tensor, allowed: Tensor) -> Tensor:
    """Each text's weights in other orders, the same one for all heads."""
    chance = torch.Generator().manual_seed(0)
    drawn = torch.rand(len(weights), PERMUTATIONS, weights.shape[-1], generator=chance)
    order = drawn.masked_fill(~allowed[:, :1], 2).argsort(-1)  # padding is at the end and stays there
    shape = (-1, PERMUTATIONS, -1, -1)
    return weights.unsqueeze(1).expand(shape).gather(-1, order.unsqueeze(2).expand(-1, -1, weights.shape[1], -1))


def _in_turns(ours: Callable[[], object], twin: Callable[[], object]) -> tuple[float, float]:
    turns = [(_taken(ours), _taken(twin)) for _ in range(REPEATS)]
    mine, theirs = (median(taken) for taken in zip(*turns, strict=True))
    return mine, theirs


def _taken(work: Callable[[], object]) -> float:
    return with_threads(1, work, time.process_time)

"""Translation: training against a plain twin, and searches against the same sentence by sentence.

Made-up sentences of the lengths of image captions; models have the default size and first, untrained weights, so that a
translation reaches its largest length: all sides take the same steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from statistics import median

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attentest.corpora import build_corpus
from attentest.training.fine_tuning import FineTuningOptimizer
from attentest.translation.data import ParallelData, make_sources, read_corpus, training_batches
from attentest.translation.fit import training_step
from attentest.translation.interventions import Intervention
from attentest.translation.model import Translator, make_translator
from attentest.translation.recurrent import Bahdanau
from attentest.translation.search import StepsOf, beam_search, greedy, leave
from attentest.translation.settings import TranslationModel, TranslationText, TranslationTraining
from attentest.translation.tokens import PAD, START
from benchmarks.row import Row, fair_clock, seconds

PAIRS, VOCABULARY, LONGEST = 6000, 8000, 45
BATCH = 128  # pairs of the twin
AT_ONCE, BEAM = 64, 5
TIMES = 5


@cache
def made_up() -> ParallelData:
    generator = np.random.default_rng(0)
    weight = 1 / (np.arange(VOCABULARY) + 5.0)
    choice = np.cumsum(weight / weight.sum())
    lengths = np.clip(generator.lognormal(np.log(12.5), 0.35, PAIRS), 4, LONGEST).astype(int)

    def sentence(length: int, letter: str) -> str:
        words = np.searchsorted(choice, generator.random(length)).clip(max=VOCABULARY - 1)
        return " ".join(f"{letter}{word}" for word in words)

    texts = [sentence(length, "s") for length in lengths]
    others = [sentence(max(3, length + int(generator.integers(-2, 3))), "t") for length in lengths]
    corpus = build_corpus("captions", {"text": texts, "second": others}, kind="generation")
    return read_corpus(corpus, TranslationText(tokenizer="whitespace"))


def _model(data: ParallelData) -> Translator:
    torch.manual_seed(0)
    return make_translator(TranslationModel(), len(data.source_tokens), len(data.target_tokens))


def training() -> list[Row]:
    """Tokens a second of the target; the twin is what tutorials have: pairs in the order of the file, each batch padded
    to its longest, and an output projection at each step, padding included."""
    data = made_up()
    settings = TranslationTraining()
    ours = _model(data).train()
    optimizer = FineTuningOptimizer(ours, settings.lr, settings.weight_decay, steps=1000, warmup=0.1)
    twin = Twin(_model(data)).train()
    twin_optimizer = torch.optim.Adam(twin.parameters(), settings.lr)
    train = data.of_split("train")
    batches = training_batches(data, train, settings.batch_tokens, np.random.default_rng(0))
    in_order = iter(np.array_split(train, len(train) // BATCH))
    clock = fair_clock(torch.get_num_threads())

    def own() -> float:
        batch = next(batches)
        taken = seconds(lambda: training_step(ours, optimizer, batch, settings, leave), clock)
        return float((batch.targets != PAD).sum()) / taken

    def plain() -> float:
        places = next(in_order)
        real = float(data.target.lengths[places].sum())
        return real / seconds(lambda: twin.step(data, places, twin_optimizer), clock)

    own(), plain()
    rates = [(own(), plain()) for _ in range(TIMES)]
    mine, theirs = (median(side) for side in zip(*rates, strict=True))
    work = f"target tokens a second in training, Bahdanau 256/512, {TIMES} batches in turns"
    return [Row("translation-training", work, mine, theirs, mine / theirs, 2.0)]


class Twin(nn.Module):
    """The same model, step by step."""

    def __init__(self, like: Translator) -> None:
        super().__init__()
        assert isinstance(like, Bahdanau)
        self.like = like

    def step(self, data: ParallelData, places: np.ndarray, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        sources = make_sources(data.source, places, data.rows)
        targets = torch.from_numpy(data.target.padded(places)[0].astype(np.int64))
        F.cross_entropy(
            self.logits(sources.ids, sources.mask, targets).flatten(0, 1), targets.flatten(), ignore_index=PAD
        ).backward()
        nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        optimizer.step()

    def logits(self, ids: Tensor, mask: Tensor, targets: Tensor) -> Tensor:
        memory = self.like.encode(ids, mask)
        state = self.like.begin(memory)
        tokens = torch.full_like(targets[:, 0], START)
        found = []
        for number in range(targets.shape[1]):
            output, state = self.like.step(memory, state, tokens, number)
            found.append(self.like.project(output))
            tokens = targets[:, number]
        return torch.stack(found, 1)


def searches() -> list[Row]:
    data = made_up()
    model = _model(data).eval()
    places = data.of_split("test")[:AT_ONCE]
    clock = fair_clock(torch.get_num_threads())

    def translate(some: np.ndarray, steps_of: StepsOf = leave, beam: int = 1) -> None:
        batch = make_sources(data.source, some, data.rows)
        given = (model, batch.ids, batch.mask, batch.texts, steps_of)
        greedy(*given) if beam == 1 else beam_search(*given, beam=beam)

    def alone() -> None:
        for place in places:
            translate(places[places == place])

    together = _median(lambda: translate(places), clock)
    one_by_one = _median(alone, clock, times=1)
    rows = [
        Row(
            "translation-greedy",
            f"greedy translations of {AT_ONCE} sentences at once, against one at a time",
            together,
            one_by_one,
            one_by_one / together,
            10.0,
        )
    ]
    for name, taken in _others(translate, places, clock):
        work = f"{name}, as a share of the time of greedy search with the model's own weights"
        most = 1 / (4.0 if "beam" in name else 1.3)
        rows.append(Row(f"translation-{name.replace(' ', '-')}", work, taken, together, together / taken, most))
    return rows


def _others(
    translate: Callable[..., None], places: np.ndarray, clock: Callable[[], float]
) -> Iterator[tuple[str, float]]:
    for kind in ("uniform", "random", "permuted", "dropped"):
        yield f"{kind} weights", _median(lambda: translate(places, Intervention(kind).steps), clock)  # noqa: B023
    yield f"beam {BEAM}", _median(lambda: translate(places, beam=BEAM), clock)


def _median(work: Callable[[], object], clock: Callable[[], float], times: int = TIMES) -> float:
    work()
    return median(seconds(work, clock) for _ in range(times))

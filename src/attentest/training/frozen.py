"""The lowest layers of a pretrained encoder, frozen: their states are computed once for each text and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.files import draft_of
from attentest.models.evaluation import evaluating
from attentest.publish import writing
from attentest.text.batches import Batch, inference_batches
from attentest.text.prepare import TokenizedCorpus
from attentest.training.predict import Around

if TYPE_CHECKING:
    from attentest.models.pretrained.model import Pretrained

IN_MEMORY = 1 << 28  # bytes of states; more of them lie in a file in the run's folder
Watch = Callable[[int, int], None]  # texts done, texts in all


@dataclass(frozen=True)
class FrozenPart:
    """What the states after the lowest layers hang on: its parameters are not trained, and it drops nothing out."""

    model: Pretrained
    stack: nn.ModuleList
    kept: int  # layers; none where a layer gives more than a state for each token, as T5's do
    modules: list[nn.Module]

    @contextmanager
    def at_rest(self, batch: Batch) -> Iterator[None]:
        """Without dropout in this part, while the rest is trained."""
        for module in self.modules:
            module.training = False
        yield


def freeze(model: Pretrained, count: int, batch: Batch) -> FrozenPart:
    """Freeze the embeddings and the lowest layers: all that the states after them come from in a run on `batch`."""
    from attentest.models.pretrained.layers import states_of

    stack = model.about.stack
    if stack is None:
        raise InputError("This encoder's upper layers cannot be run without the lower ones; use `freeze_layers=0`.")
    if count > len(stack):
        raise InputError(f"freeze_layers is {count}, and the encoder has {len(stack)} layers.")
    with torch.enable_grad():
        modules, output = _below(model, stack[count - 1], batch)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    gradients = torch.autograd.grad(states_of(output).sum(), parameters, allow_unused=True)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.requires_grad_(gradient is None)
    # the last layer runs in any case: its weights are looked at
    return FrozenPart(model, stack, min(count, len(stack) - 1) if isinstance(output, Tensor) else 0, modules)


def _below(model: Pretrained, last: nn.Module, batch: Batch) -> tuple[list[nn.Module], Any]:
    """The modules that have run by the time that a layer has, and what it gives; nothing above it runs."""
    from attentest.models.pretrained.replaced import stopping

    modules: list[nn.Module] = []
    outputs: list[Any] = []
    with ExitStack() as undo, evaluating(model), stopping() as stop:

        def seen(module: nn.Module, _inputs: Any, output: Any) -> None:
            modules.append(module)
            if module is last:
                outputs.append(output)
                raise stop

        for module in model.network.modules():
            undo.callback(module.register_forward_hook(seen).remove)
        model(batch)
    return modules, outputs[0]


@contextmanager
def kept(
    part: FrozenPart, data: TokenizedCorpus, rows: np.ndarray, folder: Path, device: torch.device, watch: Watch
) -> Iterator[Around]:
    """The states of these texts, in memory or, if they are many, in a file of the folder that goes when this ends.

    Within what this gives for a batch of them, the lowest layers hand these back instead of running.
    """
    if not part.kept:
        yield part.at_rest
        return
    from attentest.models.pretrained.layers import from_layer

    with _Store(folder, _size(part, data, rows)) as store:
        done = 0
        with evaluating(part.model), torch.no_grad():
            for batch in inference_batches(data, rows):
                store.add(batch, *_run(part, batch.to(device)))
                done += len(batch)
                watch(done, len(rows))
        store.finish()

        @contextmanager
        def around(batch: Batch) -> Iterator[None]:
            mask = part.model.layout.lay_out(batch).attention_mask.bool()
            states = torch.zeros(*mask.shape, store.width, device=mask.device)
            states[mask] = torch.from_numpy(store.of(batch.rows)).to(mask.device)
            outputs: list[Any] = [None] * len(part.stack)
            outputs[part.kept - 1] = states
            with part.at_rest(batch), from_layer(part.stack, part.kept, outputs):
                yield

        yield around


def _size(part: FrozenPart, data: TokenizedCorpus, rows: np.ndarray) -> int:
    """Bytes of the states, about: special tokens are few."""
    config: Any = part.model.network.config
    return 4 * int(config.hidden_size) * int(data.sequences.lengths[rows].sum())


def _run(part: FrozenPart, batch: Batch) -> tuple[Tensor, Tensor]:
    """States and where they are no padding."""
    _, states = _below(part.model, part.stack[part.kept - 1], batch)
    return states, part.model.layout.lay_out(batch).attention_mask.bool()


class _Store:
    """States of texts one after the other; where each text's begin."""

    def __init__(self, folder: Path, size: int) -> None:
        self.places: dict[int, slice] = {}
        self.width = 0
        self._parts: list[np.ndarray] = []
        self._states = np.empty((0, 0), np.float32)
        self._file: IO[bytes] | None = None
        self._folder, self._in_memory, self._count = folder, size <= IN_MEMORY, 0

    def __enter__(self) -> _Store:
        if not self._in_memory:
            with writing(self._folder):
                self._file = draft_of(self._folder / "states").open("w+b")
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            del self._states
            self._file.close()
            Path(self._file.name).unlink(missing_ok=True)

    def add(self, batch: Batch, states: Tensor, mask: Tensor) -> None:
        self.width = states.shape[-1]
        for row, own, real in zip(batch.rows.tolist(), states.float().cpu(), mask.cpu(), strict=True):
            values = own[real].numpy()
            self.places[row] = slice(self._count, self._count + len(values))
            self._count += len(values)
            if self._file is None:
                self._parts.append(values)
            else:
                with writing(self._folder):
                    self._file.write(values.tobytes())

    def finish(self) -> None:
        if self._file is None:
            self._states = np.concatenate(self._parts)
            self._parts = []
        else:
            with writing(self._folder):
                self._file.flush()
            self._states = np.memmap(self._file, np.float32, "r", shape=(self._count, self.width))

    def of(self, rows: np.ndarray) -> np.ndarray:
        return np.concatenate([self._states[self.places[row]] for row in rows.tolist()])

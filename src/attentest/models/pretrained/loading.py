"""Pretrained networks from a folder or from the hub: safetensors only, nothing of theirs is executed."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from attentest.errors import InputError, brief
from attentest.files import is_file, is_folder
from attentest.models.pretrained.heads import outputs_of
from attentest.models.pretrained.layout import Layout
from attentest.text.pieces import PieceTokenizer

CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.safetensors"
_FETCHED = ["*.json", "*.safetensors", "*.txt", "*.model"]  # no pickles and no code
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt", "*.h5", "*.msgpack")
_UNBOUNDED = 1_000_000  # pieces, of a network that says nothing of how many it can read
_NUMBER = re.compile(r"\.\d+\.")
HARMLESS = 1e-4  # change of the logits by padding, relative to the largest
_UNUSED = 1000  # vectors without a token that are usual: vocabularies are rounded up


@dataclass(frozen=True)
class Loaded:
    """A network with what is needed to give it texts and to read its answers."""

    network: Any  # a PreTrainedModel for sequence classification
    tokenizer: PieceTokenizer
    layout: Layout
    # the head's output of each class; -1: none, its logit is 0 (a head with one output)
    classes_of_head: tuple[int, ...]
    notes: tuple[str, ...]


def load_pretrained(
    source: str | Path,
    classes: Sequence[str],
    labels: Mapping[str, str] | None = None,
    *,
    dtype: torch.dtype = torch.float32,
) -> Loaded:
    """A fine-tuned classifier from its folder, or by its name on the hub; `labels` says which of its labels is which
    class where their names differ."""
    folder, config = _opened(source)
    if config.problem_type in ("regression", "multi_label_classification"):
        raise InputError(
            f"{source} is no classifier of one label for each text: its problem_type is {config.problem_type}."
        )
    network, missing = _network(folder, config, dtype)
    if missing:
        raise InputError(_incomplete(source, network, missing))
    names = [config.id2label[place] for place in sorted(config.id2label)]
    outputs, assumed = outputs_of(names, classes, labels)
    tokenizer, layout, notes = _tokenizer(folder, network)
    return Loaded(network, tokenizer, layout, outputs, (*assumed, *notes))


def load_encoder(source: str | Path, classes: Sequence[str], *, dtype: torch.dtype = torch.float32) -> Loaded:
    """A pretrained encoder with a head for these classes, to be fine-tuned: new weights in the head unless the folder
    has some that fit."""
    folder, config = _opened(source)
    config.id2label = dict(enumerate(classes))
    config.label2id = {name: place for place, name in enumerate(classes)}
    config.problem_type = "single_label_classification"
    network, missing = _network(folder, config, dtype, ignore_mismatched_sizes=True)
    lost = [name for name in missing if not _is_head(name, network)]
    if lost:
        raise InputError(_incomplete(source, network, lost))
    kept = [] if missing else [f"{source} has a head for {len(classes)} classes; training starts from it."]
    tokenizer, layout, notes = _tokenizer(folder, network)
    return Loaded(network, tokenizer, layout, tuple(range(len(classes))), (*kept, *notes))


def _opened(source: str | Path) -> tuple[Path, Any]:
    """The folder of a model and its config, if it is one that can be read."""
    from attentest.models.pretrained.library import transformers

    folder = folder_of(source)
    if not (folder / CONFIG).is_file():
        adapter = (folder / "adapter_config.json").is_file()
        hint = " It is an adapter: merge it into its model (merge_and_unload) and save that." if adapter else ""
        raise InputError(f"{source} is not the folder of a pretrained model: it has no {CONFIG}.{hint}")
    with _quiet():
        try:
            config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise InputError(_unreadable(source, error)) from error
    if type(config) not in transformers.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING:
        raise InputError(f"{source}: transformers has no text classifier of the architecture '{config.model_type}'.")
    if not any((folder / name).is_file() for name in (WEIGHTS, f"{WEIGHTS}.index.json")):
        raise InputError(_no_weights(source, folder))
    return folder, config


def folder_of(source: str | Path) -> Path:
    """Where the files of the model are; those of a name on the hub are fetched, unless they were before."""
    folder = Path(source).expanduser()
    if is_folder(folder):
        return folder
    if is_file(folder):
        raise InputError(f"{source} is a file; give the folder that the model was saved to.")
    name = str(source)
    if isinstance(source, Path) or name.count("/") > 1 or name.startswith((".", "/", "~")) or "\\" in name:
        raise InputError(f"{source}: there is no such folder.")
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError
    except ImportError as error:
        raise InputError("Hugging Face models are not installed: pip install 'attentest[hf]'.") from error
    try:
        return Path(snapshot_download(name, allow_patterns=_FETCHED))
    except (HFValidationError, RepositoryNotFoundError) as error:
        raise InputError(f"{brief(name)} is no folder here, and no public model on the hub has this name.") from error
    except Exception as error:  # the hub and the network raise many kinds
        raise InputError(
            f"{brief(name)} is no folder here, and the model could not be fetched from the hub "
            f"({type(error).__name__}). Download it where there is a network and give the path of its folder."
        ) from error


def _network(folder: Path, config: Any, dtype: torch.dtype, **more: Any) -> tuple[Any, list[str]]:
    """The classifier, in evaluation mode, and the names of weights that the folder does not have in this size."""
    from attentest.models.pretrained.library import transformers

    with _quiet():
        try:
            network, found = transformers.AutoModelForSequenceClassification.from_pretrained(
                folder,
                config=config,
                dtype=dtype,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                **more,
            )
        except Exception as error:  # safetensors and torch raise their own kinds
            raise InputError(_unreadable(folder, error)) from error
    absent = {*found["missing_keys"], *(key[0] for key in found["mismatched_keys"])}
    if unread := _further_layers(network, found["unexpected_keys"]):
        raise InputError(f"{folder} has more layers than {CONFIG} says: {unread[0]} would not be used.")
    network.eval()
    return network, sorted(absent)


def _further_layers(network: Any, unexpected: Iterable[str]) -> list[str]:
    """Weights that nothing reads and that are called as others are, but for the number of their layer."""
    known = {_NUMBER.sub(".", name) for name in network.state_dict()}
    prefixes = ("", f"{network.base_model_prefix}.")
    return sorted(name for name in unexpected if any(prefix + _NUMBER.sub(".", name) in known for prefix in prefixes))


def _is_head(name: str, network: Any) -> bool:
    """Whether a weight lies outside of the encoder; poolers are only trained with a head."""
    return not name.startswith(f"{network.base_model_prefix}.") or ".pooler." in name


def _incomplete(source: str | Path, network: Any, missing: Sequence[str]) -> str:
    if all(_is_head(name, network) for name in missing):
        return (
            f"{source} has no classification head (no weights for {missing[0]}). Train one with attentest finetune, "
            "or give a model that was fine-tuned for classification."
        )
    return (
        f"{source} is not complete: {len(missing)} tensors are missing or have another size than {CONFIG} says, such "
        f"as {missing[0]}."
    )


def _no_weights(source: str | Path, folder: Path) -> str:
    pickles = sorted(file.name for pattern in _PICKLES for file in folder.glob(pattern))
    if not pickles:
        return f"{source} has no weights: there is no {WEIGHTS}."
    return (
        f"{source} has its weights in {pickles[0]}, a format that can run code when it is read, so it is not opened. "
        "If you trust it, load it with transformers and save it again (save_pretrained), which writes safetensors."
    )


def _unreadable(source: str | Path, error: Exception) -> str:
    if "trust_remote_code" in str(error):
        return f"{source} brings Python code of its own, which is never executed; this model cannot be audited."
    if "ignore_mismatched_sizes" in str(error):
        return f"{source} cannot be read as a pretrained model: its weights have other sizes than {CONFIG} says."
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return f"{source} cannot be read as a pretrained model: {reason[:300]}."


def _tokenizer(folder: Path, network: Any) -> tuple[PieceTokenizer, Layout, list[str]]:
    """The tokenizer in the same folder, and how it lays out texts for the network."""
    from attentest.models.pretrained.library import transformers

    with _quiet():
        try:
            theirs = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        except Exception as error:  # the formats of tokenizers raise many kinds
            raise InputError(_unreadable(f"The tokenizer in {folder}", error)) from error
    # without its files transformers makes an empty one
    if not any((folder / name).is_file() for name in (TOKENIZER, *theirs.vocab_files_names.values())):
        raise InputError(f"{folder} has no tokenizer: save it to the same folder (tokenizer.save_pretrained).")
    if getattr(theirs, "backend_tokenizer", None) is None:
        raise InputError(f"The tokenizer in {folder} ({type(theirs).__name__}) is not one of the library `tokenizers`.")
    tokenizer = PieceTokenizer(theirs.backend_tokenizer.to_str())
    vectors = len(network.get_input_embeddings().weight)
    tokens = len(tokenizer.vocabulary)
    if tokens > vectors or tokens < vectors / 2:
        raise InputError(
            f"The tokenizer in {folder} does not match the model: it has {tokens:,} tokens, and the model has vectors "
            f"for {vectors:,}."
        )
    notes = []
    if tokens < vectors - _UNUSED:
        notes.append(f"The tokenizer has {tokens:,} tokens, and the model has vectors for {vectors:,}.")
    return tokenizer, _layout(tokenizer, theirs, network, notes), notes


def _layout(tokenizer: PieceTokenizer, theirs: Any, network: Any, notes: list[str]) -> Layout:
    config = network.config
    single, pair = tokenizer.frame(pair=False), tokenizer.frame(pair=True)
    pad = config.pad_token_id
    if pad is None:
        # classifiers on decoders look for the last token before the padding, so no text may end in it
        known = (theirs.pad_token_id, theirs.eos_token_id, *reversed(range(len(tokenizer.vocabulary))))
        pad = next(number for number in known if number is not None and number not in (*single.ids, *pair.ids))
        config.pad_token_id = pad
        notes.append(f"The model has no token for padding; {brief(tokenizer.vocabulary.tokens[pad])} is used.")
    takes = inspect.signature(network.forward).parameters
    layout = Layout(
        single=single,
        pair=pair,
        pad=pad,
        longest=min(_positions(network), theirs.model_max_length),
        side=theirs.padding_side,
        mask=theirs.mask_token_id,
        typed="token_type_ids" in theirs.model_input_names and "token_type_ids" in takes,
        pad_type=theirs.pad_token_type_id,
    )
    return _padded_harmlessly(layout, network)


def _padded_harmlessly(layout: Layout, network: Any) -> Layout:
    """Padded on the other side than the tokenizer says, if only there texts are read as they are alone: GPT-2 counts
    positions from the padding on."""
    from attentest.models.pretrained.inspection import apart_by_padding

    other = replace(layout, side="right" if layout.side == "left" else "left")
    apart = apart_by_padding(network, layout)
    return other if apart > HARMLESS and apart_by_padding(network, other) < apart / 10 else layout


def _positions(network: Any) -> int:
    """How many pieces the network has positions for."""
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.num_embeddings) - int(module.padding_idx) - 1  # RoBERTa counts from behind its padding
    said = getattr(network.config, "max_position_embeddings", None)
    return int(said) if said is not None and said > 0 else _UNBOUNDED


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the reports and progress bars of transformers, which are not for users of attentest."""
    from attentest.models.pretrained.library import transformers

    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()

"""attentest corpora and models."""

from __future__ import annotations

from attentest.cli.app import command
from attentest.cli.options import AsJson
from attentest.cli.streams import say, say_json


@command()
def corpora(as_json: AsJson = False) -> None:
    """List the named corpora, and the original layouts that --format reads."""
    from attentest.corpora import FORMATS, corpus_names

    _print_lists(
        {"corpora": corpus_names(), "formats": {name: source.summary for name, source in FORMATS.items()}},
        as_json,
    )


@command()
def models(as_json: AsJson = False) -> None:
    """List the parts of models: encoders, alignments, projections and others."""
    _print_lists({f"{part}s": names for part, names in model_parts().items()}, as_json)


def model_parts() -> dict[str, dict[str, str]]:
    """What each setting of a model that names a part can be; a parameter is shown with its default."""
    from attentest.models.settings import registries

    return {
        part: {_with_parameter(name, one.parameter): one.summary for name, one in registry.items()}
        for part, registry in registries().items()
        if part != "self_projection"  # projections that need nothing from outside the model
    }


def _with_parameter(name: str, parameter: float | None) -> str:
    return name if parameter is None else f"{name}:{parameter:g}"


def _print_lists(lists: dict[str, dict[str, str]], as_json: bool) -> None:
    if as_json:
        say_json(lists)
        return
    width = max(len(name) for names in lists.values() for name in names)
    for title, names in lists.items():
        say(f"{title}:")
        for name, summary in names.items():
            say(f"  {name:<{width}}  {summary}")

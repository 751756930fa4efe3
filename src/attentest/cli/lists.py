"""attentest corpora and models."""

from __future__ import annotations

import json

from attentest.cli.app import command
from attentest.cli.options import AsJson


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
    from attentest.models import ALIGNMENTS, DECODERS, ENCODERS, PAIRINGS, PROJECTIONS, STRUCTURES

    parts = {
        "structures": STRUCTURES,
        "encoders": ENCODERS,
        "alignments": ALIGNMENTS,
        "projections": PROJECTIONS,
        "pairings": PAIRINGS,
        "decoders": DECODERS,
    }
    _print_lists(
        {
            title: {
                name if part.parameter is None else f"{name}:{part.parameter:g}": part.summary
                for name, part in registry.items()
            }
            for title, registry in parts.items()
        },
        as_json,
    )


def _print_lists(lists: dict[str, dict[str, str]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(lists, ensure_ascii=False))
        return
    width = max(len(name) for names in lists.values() for name in names)
    for title, names in lists.items():
        print(f"{title}:")
        for name, summary in names.items():
            print(f"  {name:<{width}}  {summary}")

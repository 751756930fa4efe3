"""`python -m benchmarks [--capability avx2] [NAME …]`: print the table and write benchmarks/latest.json.

With a capability, torch and oneDNN use the kernels of a lesser CPU: what is fast with AVX-512 may not be without.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import attentest  # noqa: F401  (sets how threads wait, before torch is imported)
from attentest.errors import InputError, unknown_name
from benchmarks.row import Row

# what can be asked for by name: where it is, and for which texts
BENCHMARKS: dict[str, tuple[Any, ...]] = {
    "training-sst": ("benchmarks.training:sst_like",),
    "training-imdb": ("benchmarks.training:imdb_like",),
    "training-seeds-50": ("benchmarks.stacked:seeds", 50, 1.5),
    "training-seeds-300": ("benchmarks.stacked:seeds", 300, 1.5),
    **{
        f"{name}-{texts}": (place, texts)
        for texts in ("sst", "imdb")
        for name, place in {
            "encoding": "benchmarks.scene:encoding",
            "permutation": "benchmarks.weights:permutation",
            "adversary-exact": "benchmarks.weights:exact_adversary",
            "adversary-search": "benchmarks.weights:adversary_search",
            "leave-one-out": "benchmarks.erasure:leave_one_out",
            "input-gradients": "benchmarks.gradients:by_inputs",
            "influence": "benchmarks.gradients:on_states",
            "kendall": "benchmarks.ranks:kendall",
            "removals": "benchmarks.weights:removals",
        }.items()
    },
    **{
        f"permutation-pairs-{decoder}": ("benchmarks.pairs:permutation", decoder)
        for decoder in ("context", "context+query")
    },
    "permutation-han": ("benchmarks.documents:permutation",),
    **{
        f"self-attention-{name}": (f"benchmarks.self_attention:{function}",)
        for name, function in {
            "one-site": "one_site",
            "row-permutations": "row_permutations",
            "one-eager-site": "one_eager_site",
            "memory": "memory",
        }.items()
    },
    **{f"self-attention-frozen-{count}": ("benchmarks.self_attention:frozen_layers", count) for count in (2, 3, 4)},
    "self-attention-leave-one-out": ("benchmarks.self_attention:leave_one_out", 128, 3.0),
    "self-attention-leave-one-out-short": ("benchmarks.self_attention:leave_one_out", 16, None),
    "inseq-attention": ("benchmarks.peers:attention",),  # these only where inseq is installed
    "inseq-gradients": ("benchmarks.peers:gradients",),
    "translation-training": ("benchmarks.translation:training",),
    "translation-searches": ("benchmarks.translation:searches",),
    "two-workers": ("benchmarks.engine:two_workers",),
    "memory": ("benchmarks.memory:million_rows",),
    "all-trials": ("benchmarks.all_trials:imdb_like",),
}


CAPABILITIES = {  # read once, when torch is imported
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
    "default": {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"},
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which to run; none: all")
    parser.add_argument("--capability", choices=CAPABILITIES, help="the kernels of a lesser CPU, in a new process")
    given = parser.parse_args(arguments)
    if given.capability is None:
        return run(given.names)
    command = [sys.executable, "-m", "benchmarks", *given.names]
    return subprocess.run(command, env=os.environ | CAPABILITIES[given.capability]).returncode


def run(names: list[str]) -> int:
    try:
        chosen = [_benchmark(name) for name in names or BENCHMARKS]
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    import torch

    capability = torch.backends.cpu.get_cpu_capability()
    print(f"CPU capability {capability}, {torch.get_num_threads()} threads", flush=True)
    rows: list[Row] = []
    for benchmark in chosen:
        for row in benchmark():
            print(_line(row), flush=True)
            rows.append(row)
    file = Path(__file__).with_name("latest.json")
    written = {"capability": capability, "rows": [asdict(row) for row in rows]}
    file.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")
    print(f"\n{file}")
    return 0


def _benchmark(name: str) -> Callable[[], list[Row]]:
    if name not in BENCHMARKS:
        raise unknown_name("benchmark", name, BENCHMARKS)
    place, *arguments = BENCHMARKS[name]
    module, _, function = place.partition(":")
    return partial(getattr(import_module(module), function), *arguments)


def _line(row: Row) -> str:
    target = "" if row.target is None else f"target {row.target:g}"
    twin = "" if row.twin is None else f"twin {row.twin:9.3f}"
    ratio = "" if row.ratio is None else f"ratio {row.ratio:7.2f}"
    return f"{row.name:<26} ours {row.ours:9.3f}  {twin:<14}  {ratio:<13}  {target:<10}  {row.work}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

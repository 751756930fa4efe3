"""`python -m benchmarks.same_verdicts [--seeds N]`: the verdicts of one corpus under different random seeds.

Audits with the budget standard, on texts whose deciding words are planted; verdicts should be the same or unclear,
never yes with one seed and no with another. The first is made again without controls, in a store of its own, and the
processor time of both is compared.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import attentest
from attentest.audits import Audit
from attentest.studies.verdict import DEFINITIONS

GIVEN: dict[str, Any] = {"options": {"difficulty": 0.3}, "budget": "standard", "rows": 1200, "texts": 200, "hidden": 16}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    seconds: dict[str, float] = {}
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, given.seeds + 1):
            found, used = audited(Path(folder) / str(seed), seed, given.workers, controls=True)
            seconds.setdefault("with controls", used)
            answers.append({name: found.answer(name) for name in DEFINITIONS})
            print(f"seed {seed}, {used:.0f} s of processor time: {answers[-1]}", flush=True)
        seconds["without"] = audited(Path(folder) / "without", 1, given.workers, controls=False)[1]
    both = 0
    for name in DEFINITIONS:
        counts = Counter(answer[name] for answer in answers)
        both += {"yes", "no"} <= counts.keys()
        print(f"{name:12} {dict(counts)}")
    most, least = seconds["with controls"], seconds["without"]
    print(f"{both} verdicts are yes with one seed and no with another")
    print(f"processor time with controls {most:.0f} s, without {least:.0f} s: {most / least:.2f}×")
    return 1 if both else 0


def audited(folder: Path, seed: int, workers: int, controls: bool) -> tuple[Audit, float]:
    """An audit in a store of its own, and the processor time that it took."""
    before = processor_time()
    found = attentest.audit(
        "planted", folder / "audit", store=folder / "store", seed=seed, workers=workers, controls=controls, **GIVEN
    )
    if found.failed:
        raise SystemExit(f"steps failed: {dict(found.failed)}")
    return found, processor_time() - before


def processor_time() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    sys.exit(main())

"""The classifier without attention as a step of audits."""

from __future__ import annotations

import json
from pathlib import Path

import attentest
from attentest.corpora.stored import FILE as CORPUS
from attentest.corpora.stored import save_corpus
from attentest.progress import Listener
from attentest.studies.audit import plan_audit
from attentest.studies.results import BASELINE, read_summary
from attentest.studies.steps import baseline as step_of_baseline
from attentest.text.settings import TextSettings
from attentest.training.baseline import baseline


def test_audits_of_a_corpus_have_it_with_the_models_tokens(tmp_path: Path) -> None:
    corpus = attentest.load("planted", rows=200)
    planned = plan_audit(corpus, training={"max_tokens": 7, "hidden": 4})
    (step,) = [step for ref, step in planned.results.items() if ref.kind == BASELINE]
    save_corpus(corpus, tmp_path / CORPUS)
    step_of_baseline.run(step.settings, {"corpus": tmp_path}, tmp_path, Listener())
    wanted = baseline(corpus, TextSettings(lower=False, max_tokens=7))
    assert json.loads((tmp_path / step_of_baseline.FILE).read_text()) == wanted


def test_an_audit_of_a_run_alone_has_none(run: attentest.Run) -> None:
    assert BASELINE not in {ref.kind for ref in plan_audit(run).results}


def test_the_summary_carries_it(audited: attentest.Audit) -> None:
    (about,) = read_summary(audited.folder).blocks.values()
    assert about.baseline is not None
    assert set(about.baseline) == set(about.metrics)

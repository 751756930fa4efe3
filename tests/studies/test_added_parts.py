"""Parts that a program adds to a registry: trained and tried in it, and refused where other processes would work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from torch import nn

import attentest
from attentest.engine import Store
from attentest.errors import InputError
from attentest.models import ENCODERS
from attentest.models.encoders import Average
from attentest.models.parts import Part
from attentest.studies.audit import plan_audit
from attentest.studies.comparison import plan_comparison
from attentest.trials import TRIALS, subject_of

SIZE: dict[str, Any] = {"epochs": 1, "dimension": 8, "hidden": 4}
REFUSED = r"The encoder 'mine' was added to attentest in this program, and the steps of .* run in other processes"


class Mine(Average):
    """Each embedding alone, under a name of its own."""


def make(dimension: int, hidden: int, self_projection: str) -> nn.Module:
    return Mine(dimension, hidden)


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(ENCODERS, "mine", Part("an encoder of this test", make))
    return "mine"


@pytest.fixture
def own_run(added: str, corpus: attentest.Corpus, tmp_path: Path) -> attentest.Run:
    return attentest.train(corpus, tmp_path / "run", encoder=added, **SIZE)


def test_an_added_encoder_trains_and_stands_trial_in_this_process(own_run: attentest.Run, tmp_path: Path) -> None:
    assert isinstance(own_run.model.encoder, Mine)
    assert attentest.trial("uniform", own_run, texts=5).table.num_rows == 5
    audit = attentest.audit(subject_of(own_run, texts=5), tmp_path / "audit")
    assert audit.failed == {}
    assert audit.answer("used") != "not tested"


def test_an_audit_in_other_processes_refuses_it(own_run: attentest.Run, run: attentest.Run, tmp_path: Path) -> None:
    advice = r"attentest\.train\(corpus, folder, encoder='mine'\), then attentest\.audit\(attentest\.trials\.subject_of"
    with pytest.raises(InputError, match=REFUSED):
        plan_audit("planted", columns={"rows": 160}, training={"encoder": "mine"})
    with pytest.raises(InputError, match=advice):
        attentest.audit(own_run, tmp_path / "audit", store=Store(tmp_path / "store"))
    with pytest.raises(InputError, match=REFUSED):
        plan_comparison(own_run, run)
    assert not (tmp_path / "audit").exists()


def test_a_part_that_was_replaced_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    # a worker would silently train attentest's own under the same name
    monkeypatch.setitem(ENCODERS, "average", Part("another one", make))
    with pytest.raises(InputError, match="The encoder 'average' was added"):
        plan_audit("planted", columns={"rows": 160}, training={"encoder": "average"})


def test_parts_that_are_not_used_do_not_matter(added: str) -> None:
    plan = plan_audit("planted", columns={"rows": 160}, training={**SIZE, "projection": "entmax:1.3"})
    assert len(list(plan.plan)) > 10


def test_an_added_trial_is_refused_in_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRIALS, "mine", "my.trials:Mine")
    with pytest.raises(
        InputError, match=r"The trial 'mine' \(my\.trials:Mine\) was added .* attentest\.trial\('mine', run"
    ):
        plan_audit("planted", columns={"rows": 160}, training=SIZE)

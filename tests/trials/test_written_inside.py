"""The folder of a run may be somebody else's: what a trial finds is not written where its links lead."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import attentest
from attentest.audits import Audit


@pytest.mark.parametrize("link", ["trials", "trials/uniform"])
def test_links_out_of_a_run_are_refused(own_run: attentest.Run, tmp_path: Path, link: str) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    place = own_run.path / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(victim)
    with pytest.raises(attentest.InputError, match="not a file inside it"):
        attentest.trial("uniform", own_run, texts=5)
    assert list(victim.iterdir()) == []


def test_the_model_of_an_audit_lies_in_its_folder(audited: Audit, own_run: attentest.Run, tmp_path: Path) -> None:
    evil = shutil.copytree(audited.folder, tmp_path / "evil")
    shutil.rmtree(evil / "model")
    (evil / "model").symlink_to(own_run.path)
    with pytest.raises(attentest.InputError, match="not a file inside it"):
        attentest.open_run(evil)


def test_a_link_that_the_user_names_is_followed(own_run: attentest.Run, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(own_run.path)
    attentest.trial("uniform", attentest.open_run(tmp_path / "link"), texts=5)
    assert (own_run.path / "trials" / "uniform" / "finding.json").is_file()

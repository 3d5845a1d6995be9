"""An export replaces a SavedModel and nothing else, and after a kill there is a whole model."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.sessions.export import place as place_module
from nbfn.sessions.export.place import ExportExistsError, Place
from tests.harness.messages import raises
from tests.programs import killed_exports
from tests.programs.environments import ROOT


@pytest.fixture
def export(notebook):
    """Writes a model that multiplies, which another call makes another one."""

    def write(path: Path, factor: float = 2.0, **options: bool) -> None:
        f = nbfn.function(lambda x: x * factor)
        f(tf.constant(1.0))
        nbfn.export(path, signatures={"f": f}, functions=f, verify=False, **options)

    return write


def factor_of(path: Path) -> float:
    signature = tf.saved_model.load(str(path)).signatures["f"]
    return float(next(iter(signature(tf.constant(1.0)).values())))


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def refuse(*_: Any) -> None:
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def make_folder(path: Path) -> None:
    (path / "keep").mkdir(parents=True)
    (path / "keep" / "mine.txt").write_text("mine")


def make_file(path: Path) -> None:
    path.write_text("mine")


def make_link_to_a_folder(path: Path) -> None:
    make_folder(path.with_name("real"))
    path.symlink_to("real")


@pytest.mark.parametrize("make", [make_folder, make_file, make_link_to_a_folder])
@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_no_model_is_left_alone(export, tmp_path, make, overwrite) -> None:
    path = tmp_path / "model"
    make(path)
    before, names = files(tmp_path), sorted(each.name for each in tmp_path.iterdir())
    with raises(ExportExistsError):
        export(path, overwrite=overwrite)
    assert files(tmp_path) == before
    assert sorted(each.name for each in tmp_path.iterdir()) == names


@pytest.mark.parametrize(
    "mine",
    [
        "notes.txt",
        "keep/mine.txt",
        "variables/mine.txt",
        "assets.extra/tf_serving_warmup_requests",
        "saved_model.pb.old",
    ],
)
def test_a_model_that_holds_a_file_of_the_users_is_left_alone(export, tmp_path, mine) -> None:
    path = tmp_path / "model"
    export(path)
    (path / mine).parent.mkdir(exist_ok=True)
    (path / mine).write_text("mine")
    before = files(tmp_path)
    with raises(ExportExistsError):
        export(path, 3.0, overwrite=True)
    assert files(tmp_path) == before


def test_links_and_empty_folders_in_a_model_are_the_users(export, tmp_path) -> None:
    path = tmp_path / "model"
    export(path)
    (tmp_path / "data").mkdir()
    (path / "data").symlink_to(tmp_path / "data")
    with raises(ExportExistsError):
        export(path, overwrite=True)
    (path / "data").unlink()
    (path / "empty").mkdir()
    with raises(ExportExistsError):
        export(path, overwrite=True)


def test_a_model_is_replaced_whole(export, tmp_path) -> None:
    path = tmp_path / "model"
    killed_exports.export(path, "old")
    assert (path / "assets" / "words.txt").exists()
    export(path, 3.0, overwrite=True)
    assert factor_of(path) == 3.0
    assert not (path / "assets" / "words.txt").exists()
    assert os.listdir(tmp_path) == ["model"]


def test_a_model_that_tensorflow_has_saved_is_replaced(export, tmp_path) -> None:
    module = tf.Module()
    module.v = tf.Variable(1.0)
    tf.saved_model.save(module, str(tmp_path / "model"))
    export(tmp_path / "model", overwrite=True)
    assert factor_of(tmp_path / "model") == 2.0


@pytest.mark.parametrize("relative", [True, False])
def test_a_link_stays_one(export, tmp_path, relative) -> None:
    real, link = tmp_path / "store" / "v1", tmp_path / "model"
    link.symlink_to("store/v1" if relative else real)
    export(link)  # which led to nothing
    assert link.is_symlink()
    assert factor_of(real) == 2.0
    with raises(ExportExistsError):
        export(link)
    export(link, 3.0, overwrite=True)
    assert link.is_symlink()
    assert factor_of(real) == 3.0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model", "store"]
    assert [each.name for each in real.parent.iterdir()] == ["v1"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_comes_there_meanwhile_is_left_alone(export, tmp_path, monkeypatch, overwrite) -> None:
    path = tmp_path / "model"
    if overwrite:
        export(path)
    save = tf.saved_model.save

    def save_late(*args, **kwargs):
        save(*args, **kwargs)
        (path / "keep").mkdir(parents=True)
        (path / "keep" / "mine.txt").write_text("mine")

    monkeypatch.setattr(tf.saved_model, "save", save_late)
    with pytest.raises(ExportExistsError):
        export(path, 3.0, overwrite=overwrite)
    assert (path / "keep" / "mine.txt").read_text() == "mine"
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_an_old_model_comes_back_if_the_new_one_cannot_be_moved(
    export, tmp_path, monkeypatch
) -> None:
    path = tmp_path / "model"
    export(path)
    rename = os.rename

    def refuse_the_new_one(old: Path, new: Path) -> None:
        if re.fullmatch(r"\.model\.[0-9a-f]{8}", Path(old).name):
            raise OSError("no space left on device")
        rename(old, new)

    monkeypatch.setattr(place_module, "_system_exchange", lambda: refuse)
    monkeypatch.setattr(os, "rename", refuse_the_new_one)
    with pytest.raises(OSError, match="no space left"):
        export(path, 3.0, overwrite=True)
    assert factor_of(path) == 2.0
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_folders_that_were_made_for_a_failed_export_go_again(tmp_path) -> None:
    def fail() -> None:
        with Place(tmp_path / "a" / "b" / "model", overwrite=False).beside() as folder:
            (folder / "part").write_text("")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


# Killed at any time ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was seen of exports that were killed."""
    done = subprocess.run(
        [sys.executable, killed_exports.__file__, str(tmp_path_factory.mktemp("killed"))],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=300,
    )
    return json.loads(done.stdout)


def test_killed_before_any_step_the_old_model_or_the_new_is_whole(killed) -> None:
    seen = [each for each in killed["steps"] if each["old"]]
    assert len(seen) > 30
    assert [each["status"] for each in seen[-2:]] == [9, 0]  # the last one came to its end
    order = [each["left"] for each in seen]
    assert order == sorted(order, reverse=True)  # from the moment of the move on, it is the new one
    assert {tuple(each) for each in order} == {("old",), ("new",)}


def test_a_first_export_that_is_killed_leaves_nothing_or_the_model(killed) -> None:
    order = [each["left"] for each in killed["steps"] if not each["old"]]
    assert order == sorted(order)
    assert {tuple(each) for each in order} == {(), ("new",)}


def test_the_next_export_leaves_no_litter(killed) -> None:
    for each in killed["steps"]:
        assert (each["next"], each["names"]) == (["next"], ["model"])


def test_two_exports_at_a_time_do_not_mix(killed) -> None:
    seen = killed["race"]
    assert seen["mixed"] == []
    assert seen["texts"] >= killed_exports.MODELS
    assert seen["statuses"] == [9]  # no export failed
    assert (seen["last"], seen["names"]) == (["last"], ["model"])


def test_this_system_exchanges_names_in_one_step(tmp_path, monkeypatch) -> None:
    killed_exports.export(tmp_path / "model", "old")
    monkeypatch.delattr(os, "rename")
    killed_exports.export(tmp_path / "model", "new")
    assert killed_exports.texts(tmp_path / "model") == ["new"]
    assert os.listdir(tmp_path) == ["model"]


def test_everything_is_on_the_disk_before_it_has_the_name(tmp_path, monkeypatch) -> None:
    path, order = tmp_path / "model", []
    killed_exports.export(path, "old")
    sync, exchange = os.fsync, place_module._system_exchange()
    monkeypatch.setattr(os, "fsync", lambda fd: order.append(os.fstat(fd).st_ino) or sync(fd))
    monkeypatch.setattr(
        place_module,
        "_system_exchange",
        lambda: lambda *names: order.append("moved") or exchange(*names),
    )
    killed_exports.export(path, "new")
    inside = {each.stat().st_ino for each in (path, *path.rglob("*"))}
    assert len(inside) == 10
    assert set(order[: order.index("moved")]) == inside
    assert order[order.index("moved") + 1 :] == [tmp_path.stat().st_ino]


def test_what_is_being_written_is_no_litter_and_the_later_wins(tmp_path) -> None:
    path = tmp_path / "model"
    first, second = Place(path, overwrite=True), Place(path, overwrite=True)
    with first.beside() as one, second.beside() as other:
        assert one.is_dir()
        for folder in (one, other):
            (folder / "saved_model.pb").write_text(folder.name)
        second.fill(other)
        killed_exports.export(path, "between")
        assert one.is_dir()
        first.fill(one)
    assert (path / "saved_model.pb").read_text() == one.name
    assert os.listdir(tmp_path) == ["model"]


def test_what_only_looks_like_litter_is_the_users(tmp_path) -> None:
    mine = tmp_path / ".model.0123abcd"
    make_folder(mine)
    (tmp_path / ".model.0123abce").write_text("mine")
    (tmp_path / ".model.0123abcf").symlink_to(mine)
    killed_exports.export(tmp_path / ".model.0123abcd.old", "the last one")
    (tmp_path / ".model.12345678").mkdir()  # which a killed export has left
    (tmp_path / ".another.12345678").mkdir()
    before = files(tmp_path)
    killed_exports.export(tmp_path / "model", "new")
    kept = {name: text for name, text in files(tmp_path).items() if not name.startswith("model/")}
    assert kept == before
    assert (tmp_path / ".another.12345678").exists()
    assert not (tmp_path / ".model.12345678").exists()


def test_a_link_that_leads_to_itself_is_left_alone(tmp_path) -> None:
    path = tmp_path / "model"
    path.symlink_to(path)
    with raises(ExportExistsError):
        Place(path, overwrite=True)
    assert path.is_symlink()


def test_what_the_file_system_cannot_do_is_done_otherwise(tmp_path, monkeypatch) -> None:
    """Some lock nothing; then waste cannot be distinguished from work. Some exchange no names."""
    (tmp_path / ".model.12345678").mkdir()
    monkeypatch.setattr(place_module.fcntl, "flock", refuse)
    monkeypatch.setattr(place_module, "_system_exchange", lambda: refuse)
    killed_exports.export(tmp_path / "model", "old")
    killed_exports.export(tmp_path / "model", "new")
    assert killed_exports.texts(tmp_path / "model") == ["new"]
    assert sorted(os.listdir(tmp_path)) == [".model.12345678", "model"]

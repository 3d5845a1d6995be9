"""An export replaces a SavedModel and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf

import nbfn
from nbfn.sessions.export import place as place_module
from nbfn.sessions.export.place import ExportExistsError, Place


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


def make_folder(path: Path) -> None:
    (path / "keep").mkdir(parents=True)
    (path / "keep" / "mine.txt").write_text("mine")


def make_empty_folder(path: Path) -> None:
    path.mkdir()


def make_file(path: Path) -> None:
    path.write_text("mine")


def make_link_to_a_file(path: Path) -> None:
    path.with_name("real.txt").write_text("mine")
    path.symlink_to("real.txt")


def make_link_to_a_folder(path: Path) -> None:
    make_folder(path.with_name("real"))
    path.symlink_to("real")


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (make_folder, "`.*model` is a folder that holds no SavedModel, so it is not replaced"),
        (make_empty_folder, "holds no SavedModel"),
        (make_file, "`.*model` is a file, and no SavedModel"),
        (make_link_to_a_file, "is a file"),
        (make_link_to_a_folder, "holds no SavedModel"),
    ],
)
@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_no_model_is_left_alone(export, tmp_path, make, match, overwrite) -> None:
    path = tmp_path / "model"
    make(path)
    before, names = files(tmp_path), sorted(each.name for each in tmp_path.iterdir())
    with pytest.raises(ExportExistsError, match=match if overwrite else "overwrite=True"):
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
    with pytest.raises(ExportExistsError, match=f"holds `{mine}`, which is no part of"):
        export(path, 3.0, overwrite=True)
    assert files(tmp_path) == before


def test_links_and_empty_folders_in_a_model_are_the_users(export, tmp_path) -> None:
    path = tmp_path / "model"
    export(path)
    (tmp_path / "data").mkdir()
    (path / "data").symlink_to(tmp_path / "data")
    with pytest.raises(ExportExistsError, match="holds `data`"):
        export(path, overwrite=True)
    (path / "data").unlink()
    (path / "empty").mkdir()
    with pytest.raises(ExportExistsError, match="holds `empty`"):
        export(path, overwrite=True)


def test_a_model_is_replaced_whole(export, notebook, tmp_path) -> None:
    path = tmp_path / "model"
    export(path)
    table = tmp_path / "words.txt"
    table.write_text("a\nb\n")
    notebook["table"] = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            str(table),
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        -1,
    )
    f = nbfn.function(lambda x: notebook["table"].lookup(x))
    f(tf.constant(["a"]))
    nbfn.export(path, f, overwrite=True, verify=False)
    assert (path / "assets" / "words.txt").exists()
    export(path, 3.0, overwrite=True)
    assert factor_of(path) == 3.0
    assert not (path / "assets" / "words.txt").exists()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model", "words.txt"]


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
    with pytest.raises(ExportExistsError, match="overwrite=True"):
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
    rename = Path.rename

    def refuse_the_new_one(self: Path, target: Path) -> Path:
        if self.name.startswith(".model.") and not self.name.endswith(".old"):
            raise OSError("no space left on device")
        return rename(self, target)

    monkeypatch.setattr(place_module.Path, "rename", refuse_the_new_one)
    with pytest.raises(OSError, match="no space left"):
        export(path, 3.0, overwrite=True)
    assert factor_of(path) == 2.0
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_folders_that_were_made_for_a_failed_export_go_again(tmp_path) -> None:
    def fail() -> None:
        with Place(tmp_path / "a" / "b" / "model", overwrite=False).beside() as folder:
            folder.mkdir()
            (folder / "part").write_text("")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []

"""What runs on other machines: workflows, forms and hooks, which name only what is here."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.programs.environments import VERSIONS
from tests.programs.wheel import ROOT

GITHUB = ROOT / ".github"
FILES = sorted([*GITHUB.rglob("*.yml"), ROOT / ".pre-commit-config.yaml"])
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


def test_there_is_a_workflow_for_each_habit() -> None:
    assert [path.stem for path in WORKFLOWS] == ["docs", "release", "test", "versions"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_yaml_without_a_key_twice(path: Path) -> None:
    def walk(node: yaml.Node) -> None:
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value]
            assert sorted(keys) == sorted(set(keys)), node.start_mark
        for child in getattr(node, "value", ()):
            for each in child if isinstance(child, tuple) else (child,):
                if isinstance(each, yaml.Node):
                    walk(each)

    root = yaml.compose(path.read_text())
    assert isinstance(root, yaml.MappingNode)
    walk(root)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_targets_that_are_here_and_nothing_else(path: Path) -> None:
    ran = [step["run"] for step in steps(path) if "run" in step]
    assert ran
    for command in ran:
        called = re.fullmatch(r"make ([\w-]+)((?: [A-Z]+=(?:\$\{\{.*?\}\}|\S+))*)", command)
        assert called is not None, command
        assert called[1] in TARGETS, command
        makefile = (ROOT / "Makefile").read_text()
        for variable in re.findall(r" ([A-Z]+)=", called[2]):
            assert f"$({variable})" in makefile, command


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_do_only_what_it_says(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["steps"][0].keys() & {"run", "uses"}
        for step in job["steps"]:
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v1)", step.get("uses", "a/b@v1"))


def test_only_what_make_builds_is_published() -> None:
    build, publish = read(GITHUB / "workflows" / "release.yml")["jobs"].values()
    assert any(step.get("run", "").startswith("make dist VERSION=") for step in build["steps"])
    (kept,) = [step["with"] for step in build["steps"] if "upload-artifact" in step.get("uses", "")]
    (got,) = [step["with"] for step in publish["steps"] if "download" in step.get("uses", "")]
    assert kept["name"] == got["name"]
    assert kept["path"] == got["path"] == "dist/"
    assert publish["needs"] == "build"


def test_every_version_has_its_job() -> None:
    matrix = read(GITHUB / "workflows" / "versions.yml")["jobs"]["versions"]["strategy"]["matrix"]
    assert matrix["only"] == [version.name for version in VERSIONS]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    supported = re.findall(r":: Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert {f"python-{each}" for each in supported} <= {*matrix["only"]}
    lowest = {
        "tensorflow": "tensorflow-2.19",
        "ipython": "ipython-8.18",
        "jupyterlab": "jupyterlab-4.2",
    }
    wanted = [*project["dependencies"], *project["optional-dependencies"]["lab"]]
    for package, name in lowest.items():
        assert f"{package}>={name.split('-')[1]}" in wanted
        assert name in matrix["only"]


def test_the_facts_that_a_report_asks_for_can_be_printed() -> None:
    fields = {each["id"]: each for each in read(GITHUB / "ISSUE_TEMPLATE" / "bug.yml")["body"]}
    (code,) = re.findall(
        r"```python\n(.*?)```", fields["versions"]["attributes"]["description"], re.DOTALL
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    for name in ("python 3.", "nbfn ", "tensorflow 2.", "keras 3.", "ipython ", "jupyterlab 4."):
        assert f"\n{name}" in f"\n{said}"


def test_hooks_run_what_lint_runs() -> None:
    ((repository),) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    assert {hook["id"] for hook in repository["hooks"]} == {
        *("ruff", "ruff-format", "mypy", "prettier")
    }
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        program = hook["entry"].split()[0]
        assert shutil.which(str(ROOT / program)) is not None, program


def test_each_target_is_reported() -> None:
    """CONTRIBUTING.md has one command for each task."""
    reported = set(re.findall(r"^\$ make ([\w-]+)", (ROOT / "CONTRIBUTING.md").read_text(), re.M))
    parts = {"lab", "unit", "front-test", "environments-test", "notebooks-test", "clean"}
    assert reported | parts == TARGETS


def test_what_tests_import_is_installed_for_them() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    test = " ".join(extras["optional-dependencies"]["test"])
    for name in ("coverage", "pyyaml", "psutil", "playwright", "nbval"):
        assert name in test

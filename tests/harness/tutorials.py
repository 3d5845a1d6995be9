"""A plugin of pytest: what nbval does not know of the tutorials.

It does not compare outputs that go on changing after their cell: nbval sees such an output as it
was first, and the notebook has it as it was last. And it runs the cells of each tutorial twice more
in the same kernel: no error, no warning, no output that grows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import pytest
from nbval.plugin import IPyNbCell, IPyNbFile

from nbfn import protocol
from tests.harness import forked_kernels
from tests.harness.kernel import Kernel

GROWTH = 1.15
"""By this factor the outputs may differ between the second and the third round."""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: Any) -> Iterator[None]:
    report = yield
    if isinstance(collector, IPyNbFile) and report.passed:
        cells = report.result
        for cell in cells:
            cell.compare_outputs = _but_for_live(cell.compare_outputs)
            # A cell that has failed has changed what it would begin with.
            cell.add_marker(pytest.mark.flaky(reruns=0))
        again = MoreRounds.from_parent(collector, name="Twice more", cells=list(cells))
        report.result = [*cells, again]
        if (command := forked_kernels.command()) is not None:
            begin = collector.setup

            def setup() -> None:
                with mock.patch("ipykernel.kernelspec.make_ipkernel_cmd", return_value=command):
                    begin()

            collector.setup = setup
    return report


def _but_for_live(compare: Any) -> Any:
    def compared(test: list[Any], ref: list[Any], skip_compare: Any = None) -> Any:
        return compare(_lasting(test), _lasting(ref), skip_compare)

    return compared


def _lasting(outputs: list[Any]) -> list[Any]:
    return [each for each in outputs if protocol.MIME_TYPE not in each.get("data", {})]


class MoreRounds(pytest.Item):
    """The second and the third run of all cells of a notebook, after nbval's."""

    def __init__(self, cells: Sequence[IPyNbCell], **options: Any) -> None:
        super().__init__(**options)
        self.cells = cells

    def runtest(self) -> None:
        first = [cell.test_outputs for cell in self.cells]
        if None in first:
            pytest.skip("a cell has not run before")
        jupyter = self.parent.kernel
        kernel = Kernel(jupyter.kc, jupyter.interrupt)
        second, third = (self._run(kernel) for _ in range(2))
        meant = errors(first).keys()
        for outputs in (second, third):
            assert {n: each for n, each in errors(outputs).items() if n not in meant} == {}
            assert warnings(outputs) <= warnings(first)
        before, after = len(str(second)), len(str(third))
        assert after <= GROWTH * before
        if "COVERAGE_PROCESS_CONFIG" in os.environ:  # what is killed tells no coverage
            jupyter.km.shutdown_kernel()

    def _run(self, kernel: Kernel) -> list[list[Any]]:
        """Runs all cells; returns the outputs of each as they are in the end."""
        outputs, changed = [], {}
        for cell in self.cells:
            reply = kernel.run(cell.cell.source, timeout=300, is_looked_at=False)
            outputs.append(reply.outputs)
            changed.update({_display(each): each for each in reply.displays if _display(each)})
        return [[changed.get(_display(each), each) for each in some] for some in outputs]


def _display(output: dict[str, Any]) -> str | None:
    """The id by which an output is changed later."""
    found: str | None = output.get("transient", {}).get("display_id")
    return found


def errors(outputs: list[list[Any]]) -> dict[int, str]:
    return {
        number: f"{each['ename']}: {each['evalue']}"
        for number, some in enumerate(outputs)
        for each in some
        if "ename" in each
    }


def warnings(outputs: list[list[Any]]) -> int:
    texts = [each.get("text", "") for some in outputs for each in some]
    return sum(text.count("NbfnWarning") for text in texts)

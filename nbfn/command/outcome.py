"""The exit codes of the command, one for each reason."""

from __future__ import annotations

from enum import IntEnum

from nbfn.errors import NbfnError


class Exit(IntEnum):
    """The exit codes."""

    SUCCESS = 0
    CELL_FAILED = 1
    MISUSE = 2
    NOT_EXPORTED = 3
    NOT_VERIFIED = 4
    OVER_BUDGET = 5
    TIMEOUT = 6
    KERNEL_DIED = 7
    INTERRUPTED = 130
    TERMINATED = 143

    @property
    def meaning(self) -> str:
        """Description of the code."""
        return _MEANINGS[self]


_MEANINGS = {
    Exit.SUCCESS: "every cell ran, and whatever was asked for holds",
    Exit.CELL_FAILED: "a cell raised an error",
    Exit.MISUSE: "the command cannot be carried out as it was given",
    Exit.NOT_EXPORTED: "the export was refused, or could not be written",
    Exit.NOT_VERIFIED: "the exported model does not compute what the notebook computed",
    Exit.OVER_BUDGET: "there were more retraces than --max-retraces allows",
    Exit.TIMEOUT: "a cell took longer than --timeout",
    Exit.KERNEL_DIED: "the kernel died",
    Exit.INTERRUPTED: "interrupted (Ctrl-C)",
    Exit.TERMINATED: "terminated (SIGTERM)",
}


class CommandError(NbfnError):
    """Ends a command with an exit code; the message is printed as one line."""

    def __init__(self, message: str, exit: Exit = Exit.MISUSE) -> None:
        super().__init__(message)
        self.exit = exit

"""The session as an outline."""

from __future__ import annotations

from nbfn.functions.traces.capture import short_device
from nbfn.sessions.session import Session
from nbfn.text import count
from nbfn.views.outline import Outline, Table


def session_outline(session: Session) -> Outline:
    """What the view of the session says."""
    functions = [
        (name + f.parameters, str(len(f.traces)), str(f.calls), str(f.hits), str(len(f.retraces)))
        for name, f in session.functions.items()
    ]
    cells = [(name, str(cell.report)) for name, cell in session.cells.items()]
    variables = [
        (name, str(list(v.shape)), v.dtype.name, short_device(v.device))
        for name, v in session.variables.items()
    ]
    modules = [(name, type(module).__name__) for name, module in session.modules.items()]
    return Outline(
        f"session: {count(len(functions), 'function')}, {count(len(modules), 'module')}, "
        f"{count(len(variables), 'variable')}",
        (),
        (
            Table("functions", ("function", "traces", "calls", "hits", "retraces"), functions),
            Table("cells", ("cell", "runs as"), cells),
            Table("modules", ("name", "class"), modules),
            Table("variables", ("name", "shape", "dtype", "device"), variables),
        ),
    )

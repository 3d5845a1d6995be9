"""A written model as an outline."""

from __future__ import annotations

from nbfn.sessions.export.export import Export
from nbfn.text import count
from nbfn.views.outline import Outline, Table


def export_outline(export: Export) -> Outline:
    """What the view of an export says."""
    checked = {each.signature: each for each in export.verified}
    rows = []
    for name, text in export.signatures.items():
        result = checked.get(name)
        rows.append((name, text, "not verified" if result is None else _VERDICTS[result.status]))
    variables = count(len(export.variables), "variable")
    lines = [f"{variables}, {count(len(export.signatures), 'signature')}"]
    if export.compared:
        lines.append(f"compared by value in another process: {export.compared}")
    lines += [
        f"{each.signature}: {_VERDICTS[each.status]}: {each.detail}"
        for each in (*export.verified, *export.verified_traces)
        if each.status != "equal"
    ]
    lines += [f"left out: {each}" for each in export.left_out]
    if export.fixed:
        sizes = "; ".join(export.fixed[:3]) + ("; ..." if len(export.fixed) > 3 else "")
        lines.append(
            f"sizes that no call varied are fixed: {sizes}. Call it with another size, or define "
            "it with input_signature=, to leave them open"
        )
    return Outline(
        f"exported to {export.path}",
        lines,
        (
            Table("signatures", ("name", "inputs and outputs", "in a fresh process"), rows),
            Table("variables", ("name",), [(name,) for name in export.variables]),
        ),
    )


_VERDICTS = {
    "equal": "computes the same",
    "shapes": "only shapes compared",
    "skipped": "not proven",
}

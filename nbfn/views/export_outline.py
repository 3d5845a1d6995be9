"""A written model as an outline."""

from __future__ import annotations

from nbfn.outlines.outline import Outline, Table, Words
from nbfn.protocol import Phrase
from nbfn.sessions.export.export import Export
from nbfn.text import count


def export_outline(export: Export) -> Outline:
    """Returns the outline of an export."""
    checked = {each.signature: each for each in export.verified}
    rows = []
    for name, text in export.signatures.items():
        result = checked.get(name)
        detail = result.detail if result is not None and result.status == "equal" else ""
        rows.append((name, text, verdict(result.status if result else None), detail))
    variables = count(len(export.variables), "variable")
    lines: list[Words] = [f"{variables}, {count(len(export.signatures), 'signature')}"]
    if export.compared:
        lines.append(f"compared by value in another process: {export.compared}")
    lines += [
        f"{each.signature}: {verdict(each.status).text}: {each.detail}"
        for each in (*export.verified, *export.verified_traces)
        if each.status != "equal"
    ]
    lines += [f"left out: {each}" for each in export.left_out]
    if export.fixed:
        sizes = "; ".join(export.fixed[:3]) + ("; ..." if len(export.fixed) > 3 else "")
        lines.append(
            f"sizes that no call varied are fixed: {sizes}. Call it with another size, or give "
            "signatures= to the export, to leave them open"
        )
    return Outline(
        f"exported to {export.path}",
        lines,
        (
            Table(
                "signatures",
                ("name", "inputs and outputs", "in a fresh process", ""),
                rows,
                open=True,
            ),
            Table("variables", ("name",), [(name,) for name in export.variables]),
        ),
        verdict="passed" if is_verified(export) else "unverified",
    )


def is_verified(export: Export) -> bool:
    """Returns whether every signature, called in another process, computed the same."""
    equal = {each.signature for each in export.verified if each.status == "equal"}
    return equal >= export.signatures.keys()


def verdict(status: str | None) -> Phrase:
    """Returns the result of a signature's verification in words; None if there was none."""
    if status is None:
        return Phrase(text="not verified", verdict="unverified")
    return Phrase(text=_VERDICTS[status], verdict="passed" if status == "equal" else "unverified")


_VERDICTS = {
    "equal": "computes the same",
    "shapes": "only shapes compared",
    "skipped": "not verified",
}

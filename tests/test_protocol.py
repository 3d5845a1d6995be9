"""One schema, two languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from nbfn import protocol

SCHEMA = Path(__file__).parent.parent / "labextension" / "protocol.schema.json"


def test_the_front_ends_schema_is_the_kernels() -> None:
    assert json.loads(SCHEMA.read_text()) == json.loads(protocol.schema()), "run `make protocol`"


def test_messages_survive_json() -> None:
    row = protocol.DeviceRecord(id="/device:CPU:0", kind="CPU")
    snapshot = protocol.SnapshotMessage(
        epoch="e", seq=1, nbfn="0", state=protocol.Rows(devices={row.id: row})
    )
    assert protocol.SnapshotMessage.model_validate_json(snapshot.model_dump_json()) == snapshot


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="surprise"):
        protocol.DeviceRecord(id="a", kind="CPU", surprise=1)  # type: ignore[call-arg]

"""The messages between the kernel and the front end, as typed records.

All views are drawn from these records: widgets, the JupyterLab panel, and the HTML and text
fallbacks. ``labextension/src/protocol.ts`` is generated from the JSON schema that this module
prints (``python -m nbfn.protocol``).

The kernel sends a `SnapshotMessage` when a client attaches or requests one, then a `Patch` for each
batch of changes. Both carry the `epoch` (one per kernel start) and a sequence number. A client that
notices a gap or another epoch requests a snapshot. To apply a patch, put its rows into the tables
of the state, then delete the removed rows.

Times are in seconds, sizes in bytes. Rows are in order of creation.
"""

from __future__ import annotations

import json
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

PROTOCOL = 2
"""Version of the protocol, increased only for changes that an older client cannot read."""

MIME_TYPE = "application/vnd.nbfn.view+json"
"""The MIME type of a `SavedView`."""

CauseCode = Literal[
    "first_trace",
    "variable_creation",
    "new_code",
    "new_function",
    "new_instance",
    "evicted",
    "after_failure",
    "shape",
    "rank",
    "dtype",
    "structure",
    "python_value",
    "python_type",
    "object_identity",
    "stale",
    "device",
    "strategy",
    "summaries",
    "context",
    "alias",
    "widened",
    "xla_compile",
    "relaxed",
    "requested",
    "export",
    "unknown",
]

CallKind = Literal["hit", "trace", "retrace", "idle"]
"""The result of the last call; idle if there was none."""


class ProtocolRecord(BaseModel):
    """Base class of the records: immutable, without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def of(cls, source: object, **given: Any) -> Self:
        """Builds a record of what an object has under the names of the fields, and of `given`."""
        own = {name: getattr(source, name) for name in cls.model_fields if name not in given}
        return cls(**own, **given)


class CodePlace(ProtocolRecord):
    """A place in the source."""

    id: str | None = Field(default=None, description="Id of the notebook cell, where known.")
    execution_count: int | None = Field(default=None, description="The n of In [n].")
    line: int | None = Field(default=None, description="Line in the cell or file, from 1.")
    file: str | None = Field(default=None, description="File, for code outside a notebook.")
    path: str | None = Field(
        default=None, description="Path relative to the kernel's folder, if inside."
    )


class Leaf(ProtocolRecord):
    """One leaf of a call's arguments, as in the trace's key."""

    path: str = Field(description="Path of the argument, such as batch['images'][0].")
    type: str = Field(description="The key of the leaf, such as float32[64, 10] or int 3.")


class CauseRecord(ProtocolRecord):
    """One reason why a call found no trace."""

    code: CauseCode
    path: str | None = Field(default=None, description="Path of the argument that differs.")
    old: str | None = Field(default=None, description="The leaf of the nearest trace.")
    new: str | None = Field(default=None, description="The leaf of the call.")
    sentence: str


class RemedyRecord(ProtocolRecord):
    """What to change to avoid the retrace."""

    sentence: str
    code: str | None = Field(default=None, description="Python that runs when pasted into a cell.")


class LineTimeRecord(ProtocolRecord):
    """The time of a line of code in a measured call."""

    cell: CodePlace = Field(description="The line.")
    share: float = Field(description="Its part of the time of all operations, from 0 to 1.")
    text: str = Field(description="Its share and its time.")


class FunctionRecord(ProtocolRecord):
    """A traced function."""

    id: str
    name: str
    # Only the kernel has these: everybody else shows the title.
    parameters: str = Field(default="", exclude=True)
    title: str = Field(
        default="",
        description="Its name with its parameters, then the cell if another function has the name.",
    )
    cell: CodePlace | None = Field(default=None, description="Where it was defined.")
    calls: int | None = Field(
        description="None for a function that is not watched: only those that trace are known."
    )
    hits: int | None
    traces: int = Field(description="Traces in the cache now.")
    retraces: int = Field(description="Misses after the first trace.")
    trace_seconds: float
    run_seconds: float
    nbytes: int = Field(description="Size of the GraphDefs of its traces.")
    last: Literal["hit", "trace", "retrace"] | None = Field(
        default=None, description="The result of the last call."
    )
    last_trace: str | None = Field(default=None, description="Id of the trace that served last.")
    last_retrace: str | None = Field(default=None, description="Id of the newest retrace.")
    note: str = Field(default="", description="Text shown next to the name in a list.")
    measures: list[str] = Field(
        default_factory=list,
        description="What a list is sorted by, as text: calls, traces, retraces, time to trace, "
        "time running, size of the graphs.",
    )
    lines: list[LineTimeRecord] = Field(
        default_factory=list,
        description="The slowest lines of the newest call whose lines were timed.",
    )


class TraceRecord(ProtocolRecord):
    """One trace: a graph in the trace cache of a function."""

    id: str
    function: str
    number: int = Field(description="Its number among the function's traces, from 1.")
    signature: list[Leaf]
    cause: CauseRecord
    cell: CodePlace | None = Field(default=None, description="The call that made it.")
    time: float = Field(description="When it was made, in seconds since 1970.")
    hits: int
    trace_seconds: float
    run_seconds: float
    operations: int
    nbytes: int = Field(description="Size of its GraphDef.")
    captures: list[str] = Field(description="Ids of the captured variables.")


class RetraceRecord(ProtocolRecord):
    """A miss: a call that made a new trace although the function had one."""

    id: str
    function: str
    trace: str = Field(description="Id of the trace it made; empty once that has been evicted.")
    number: int = Field(description="Its number among the function's retraces, from 1.")
    causes: list[CauseRecord]
    nearest: list[str] = Field(description="Ids of the nearest traces, with which it was compared.")
    cell: CodePlace | None = Field(default=None, description="The call that missed.")
    time: float = Field(description="When it happened, in seconds since 1970.")
    trace_seconds: float
    remedy: RemedyRecord | None = None
    settled: bool = Field(default=False, description="Whether its trace has been replaced since.")


class SegmentRecord(ProtocolRecord):
    """Statements of a traced cell that run as one graph."""

    function: str = Field(description="Id of its function.")
    first: int = Field(description="Its first line in the cell, from 1.")
    last: int = Field(description="Its last line.")
    seconds: float | None = Field(default=None, description="Duration of a run as a graph.")
    eager_seconds: float | None = Field(default=None, description="Duration of a run as Python.")


class TracedCellRecord(ProtocolRecord):
    """A cell that runs in segments: some statements in graphs, the others as Python."""

    id: str
    name: str
    cell: CodePlace | None = Field(default=None, description="The notebook cell of the last run.")
    source: str = Field(description="Its Python code; the line of the magic is empty.")
    lines: dict[int, str | None] = Field(
        description="For each line with code: why it runs as Python; null if in a graph."
    )
    sentence: str = Field(description="Describes which statements run in graphs.")
    python: list[str] = Field(description="Why statements are Python, such as line 4 prints.")
    segments: list[SegmentRecord] = Field(description="What runs in graphs, in text order.")
    draws: bool = Field(
        default=False, description="Whether a graph's random numbers differ from those of Python."
    )
    functions: list[str] = Field(
        description="Ids of the functions of all segments, also of those that now run as Python."
    )
    graph_statements: int = Field(description="Statements that run in graphs.")
    statements: int
    seconds: float = Field(description="Duration of the last run.")
    eager_seconds: float = Field(description="Its estimated duration as Python.")
    runs: int
    call: CallKind = Field(default="idle", description="The most notable call in the last run.")
    speedup: float | None = Field(
        default=None,
        description="Speed of the last run relative to Python; null if not comparable, as for a "
        "run that traced.",
    )
    place: str = Field(default="", description="The notebook cell as text, such as In [3].")
    note: str = Field(default="", description="Text shown next to the name in a list.")
    measures: list[str] = Field(
        default_factory=list,
        description="What a list is sorted by, as text: runs, traces, time of a run, time to "
        "trace, size of the graphs.",
    )


class VariableRecord(ProtocolRecord):
    """A variable, tensor or other resource captured by a trace."""

    id: str
    kind: Literal["variable", "tensor", "resource"] = "variable"
    name: str = Field(description="The notebook's name for it, such as model/hidden/kernel.")
    shape: list[int | None] | None
    dtype: str
    device: str
    nbytes: int | None
    trainable: bool


class DeviceRecord(ProtocolRecord):
    """A logical device that TensorFlow can place operations on."""

    id: str = Field(description="TensorFlow's full name for it.")
    kind: str = Field(description="CPU, GPU or TPU.")
    name: str = Field(default="", description="Its short name, such as GPU:0.")


class ModelRecord(ProtocolRecord):
    """A module, Keras model or layer; its tree is an outline."""

    id: str = Field(description="The notebook's name for it.")
    label: str = Field(description="Its class.")
    note: str = Field(description="Text shown next to the name in a list.")
    parameters: int | None = Field(description="Number of elements of its variables.")


class ObjectRecord(ProtocolRecord):
    """A lookup table, dataset, iterator or optimizer."""

    id: str = Field(description="The notebook's name for it.")
    label: str = Field(description="Its class.")


class RunRecord(ProtocolRecord):
    """A run of a notebook cell, or several successive runs merged."""

    id: str
    cell: CodePlace = Field(description="The cell; of several, that of the longest run.")
    first: int | None = Field(default=None, description="The n of In [n] of the first run.")
    last: int | None = Field(default=None, description="The n of In [n] of the last run.")
    runs: int = Field(default=1, description="Number of merged runs.")
    time: float = Field(description="Start time, in seconds since 1970.")
    end: float = Field(description="End time; for a running cell, the time of the last update.")
    seconds: float = Field(description="Duration, without pauses between runs.")
    tracing: float = Field(description="Seconds spent on tracing.")
    graph: float = Field(description="Seconds spent in graphs; the rest is Python.")
    sampled: float = Field(
        default=0, description="Seconds in graphs that were sampled, not measured."
    )
    elsewhere: float = Field(
        default=0, description="Seconds of calls on other threads; not part of `seconds`."
    )
    calls: int = 0
    traces: int = 0
    watched: int = Field(default=0, description="Calls with recorded copies between devices.")
    copies: int = Field(default=0, description="Copies between devices in watched calls.")
    copied_nbytes: int = 0
    longest: float = Field(description="Duration of the longest run.")
    failed: int = Field(default=0, description="Number of runs that raised an error.")
    interrupted: int = 0
    running: bool = Field(default=False, description="Whether it is still running.")
    segments: str | None = Field(
        default=None, description="For a cell in segments: what ran in graphs, as text."
    )
    memory: int | None = Field(
        default=None, description="Memory of the process at the end, in bytes; maximum of all runs."
    )
    devices: dict[str, list[int]] | None = Field(
        default=None,
        description="Current and peak bytes of TensorFlow on each device at the end.",
    )


class WorkRecord(ProtocolRecord):
    """Running work that has lasted over a second."""

    id: str
    kind: Literal["trace", "run", "loop", "export"]
    name: str = Field(description="Name of the function or model, such as train_step.")
    function: str | None = Field(default=None, description="Id of the function, if it is listed.")
    sentence: str = Field(description="What runs, for how long, and its progress.")
    seconds: int = Field(description="Whole seconds since it began.")
    done: int | None = Field(default=None, description="Amount done, if known.")
    total: int | None = Field(default=None, description="Total amount, if known.")


class Rows(ProtocolRecord):
    """Tables of records by id."""

    cells: dict[str, TracedCellRecord] = Field(default_factory=dict)
    functions: dict[str, FunctionRecord] = Field(default_factory=dict)
    traces: dict[str, TraceRecord] = Field(default_factory=dict)
    retraces: dict[str, RetraceRecord] = Field(default_factory=dict)
    # Only the kernel has these: pages draw the outline that is made of them.
    variables: dict[str, VariableRecord] = Field(default_factory=dict, exclude=True)
    objects: dict[str, ObjectRecord] = Field(default_factory=dict, exclude=True)
    devices: dict[str, DeviceRecord] = Field(default_factory=dict)
    models: dict[str, ModelRecord] = Field(default_factory=dict)
    runs: dict[str, RunRecord] = Field(default_factory=dict)
    work: dict[str, WorkRecord] = Field(default_factory=dict)


class Removed(ProtocolRecord):
    """Ids of rows to remove from the tables."""

    cells: list[str] = Field(default_factory=list)
    functions: list[str] = Field(default_factory=list)
    traces: list[str] = Field(default_factory=list)
    retraces: list[str] = Field(default_factory=list)
    variables: list[str] = Field(default_factory=list, exclude=True)
    objects: list[str] = Field(default_factory=list, exclude=True)
    devices: list[str] = Field(default_factory=list)
    models: list[str] = Field(default_factory=list)
    runs: list[str] = Field(default_factory=list)
    work: list[str] = Field(default_factory=list)


class Totals(ProtocolRecord):
    """The totals, including rows that the tables leave out.

    Every view shows these numbers; views do not count rows.
    """

    functions: int = Field(
        default=0,
        description="Traced and watched functions that exist, besides those of cells in segments.",
    )
    cells: int = Field(default=0, description="Cells in segments that have run.")
    calls: int = Field(default=0, description="Calls of the functions, those of cells included.")
    hits: int = Field(default=0, description="Calls served by an existing trace.")
    traces: int = Field(default=0, description="Traces in the caches of these functions now.")
    retraces: int = Field(
        default=0, description="Misses after the first trace whose traces can still serve."
    )
    trace_seconds: float = Field(
        default=0,
        description="What making graphs has taken in the runs of all cells; without cells, in the "
        "calls of the functions.",
    )
    trace_nbytes: int = Field(default=0, description="Size of all GraphDefs.")
    variables: int = Field(
        default=0,
        description="Variables that the notebook's names lead to, or that a trace has captured "
        "which can still serve.",
    )
    variable_nbytes: int = Field(default=0, description="Size of these variables.")
    models: int = Field(
        default=0, description="Modules, Keras models and layers that the notebook names."
    )
    devices: int = Field(
        default=0, description="Logical devices, known once a function has been traced."
    )
    runs: int = Field(
        default=0, description="Runs of cells since nbfn was loaded, with the running one."
    )
    run_seconds: float = Field(default=0, description="What these runs have taken so far.")


Verdict = Literal["passed", "failed", "refused", "unverified"]


class Phrase(ProtocolRecord):
    """A text with a link, code or judgement: code for a cell, a place, a page, a verdict."""

    text: str = Field(description="The text; backticks enclose code.")
    code: str | None = Field(default=None, description="Python that runs when pasted into a cell.")
    cell: CodePlace | None = Field(default=None, description="The place, or where to use the code.")
    page: str | None = Field(default=None, description="Address of a documentation page.")
    verdict: Verdict | None = Field(default=None, description="Result of a check.")
    hint: str | None = Field(default=None, description="What it means, shown on hover.")


class PageTable(ProtocolRecord):
    """A collapsible table of a page."""

    title: str
    header: list[str]
    rows: list[list[str | Phrase]] = Field(description="The first rows, or the newest.")
    total: int = Field(description="Number of rows, including those left out.")
    open: bool = Field(description="Whether it is open by default.")
    kind: Literal["plain", "sides", "code", "tree"] = Field(
        default="plain",
        description="Sides: the last two columns are compared. Code: lines of a cell. Tree: "
        "rows may be parts of a row above.",
    )
    depths: list[int] = Field(default_factory=list, description="Depth of each row of a tree.")
    closed: list[int] = Field(
        default_factory=list, description="Rows of a tree that are closed by default, from 0."
    )
    newest: bool = Field(
        default=False, description="Whether the rows are the newest, newest first."
    )
    details: list[int] = Field(
        default_factory=list,
        description="Columns of details, from 0, which a narrow view shows on demand.",
    )


class DiagramNode(ProtocolRecord):
    """A box of a diagram."""

    id: str
    kind: str = Field(description="Such as cell, function or device.")
    label: str
    lines: list[str] = Field(default_factory=list, description="Additional lines of text.")
    marked: bool = Field(default=False, description="Whether it needs attention.")
    cell: CodePlace | None = Field(default=None, description="The place that it links to.")


class DiagramEdge(ProtocolRecord):
    """An arrow of a diagram."""

    source: str = Field(description="Id of its source node.")
    target: str = Field(description="Id of its target node.")
    label: str = ""
    marked: bool = Field(default=False, description="Whether it needs attention.")


class Diagram(ProtocolRecord):
    """Nodes and edges. Tables next to it have the same content as text."""

    nodes: list[DiagramNode]
    edges: list[DiagramEdge]


class Page(ProtocolRecord):
    """An outline of a function, a cell, a model or a result."""

    title: str
    call: CallKind | None = Field(default=None, description="For a function or a cell.")
    status: str | Phrase | None = Field(default=None, description="A sentence next to the title.")
    lines: list[str | Phrase] = Field(description="Sentences; backticks enclose code.")
    facts: list[str | Phrase] = Field(
        default_factory=list, description="Times and sizes, which stored texts omit."
    )
    summary: str | None = Field(
        default=None, description="Title of the collapsible section with facts, tables and groups."
    )
    tables: list[PageTable]
    groups: list[Page] = Field(description="Its parts, which are collapsible.")
    open: bool = Field(description="Whether it is open by default, within another.")
    diagram: Diagram | None = None
    verdict: Verdict | None = Field(default=None, description="Result of a check.")


class SnapshotMessage(ProtocolRecord):
    """The whole state, which replaces everything that a client knew."""

    type: Literal["snapshot"] = "snapshot"
    protocol: int = PROTOCOL
    epoch: str = Field(description="Random, one per kernel start.")
    seq: int
    nbfn: str = Field(description="Version of nbfn in the kernel.")
    tensorflow: str | None = Field(default=None, description="Version of TensorFlow, if imported.")
    totals: Totals | None = None
    state: Rows
    pages: dict[str, Page | None] = Field(
        default_factory=dict, description="The outlines that the client shows, by target."
    )


class Patch(ProtocolRecord):
    """The changes since the message with the previous sequence number."""

    type: Literal["patch"] = "patch"
    epoch: str
    seq: int
    tensorflow: str | None = Field(default=None, description="Version of TensorFlow, if imported.")
    totals: Totals
    put: Rows
    removed: Removed
    pages: dict[str, Page | None] = Field(
        default_factory=dict,
        description="The changed outlines that the client shows; null if the function or cell "
        "no longer exists.",
    )


class Pages(ProtocolRecord):
    """The outlines that a client has begun to show."""

    type: Literal["pages"] = "pages"
    epoch: str
    pages: dict[str, Page | None]


class Mark(ProtocolRecord):
    """The current sequence number; a client with a lower one has missed messages."""

    type: Literal["mark"] = "mark"
    epoch: str
    seq: int = Field(description="Number of the last patch.")


class Refused(ProtocolRecord):
    """The reply to a client with another version of the protocol."""

    type: Literal["refused"] = "refused"
    protocol: int = PROTOCOL
    nbfn: str
    message: str


class Presence(ProtocolRecord):
    """Sent by the kernel on its presence comm when nbfn is loaded."""

    type: Literal["presence"] = "presence"


class Attach(ProtocolRecord):
    """Sent by a client when it opens the comm."""

    type: Literal["attach"] = "attach"
    protocol: int
    nbfn: str = Field(description="Version of the front end.")
    page: str | None = Field(
        default=None,
        description="Random, one per page; its newest comm replaces older ones.",
    )


class RequestSnapshot(ProtocolRecord):
    """A client that has missed messages requests the whole state."""

    type: Literal["request_snapshot"] = "request_snapshot"


class RequestOutlines(ProtocolRecord):
    """A client requests the outlines that it shows, now and whenever they change."""

    type: Literal["request_outlines"] = "request_outlines"
    targets: list[str] = Field(
        description="Ids of functions or cells, or names of parts of the session."
    )


class RequestPictures(ProtocolRecord):
    """A widget requests the bundle of the pictures when it first needs one."""

    type: Literal["request_pictures"] = "request_pictures"


class Pictures(ProtocolRecord):
    """The bundle of the pictures, as the source of a JavaScript module."""

    type: Literal["pictures"] = "pictures"
    source: str


class Watch(ProtocolRecord):
    """A hidden client pauses patches (false), or resumes with a snapshot (true)."""

    type: Literal["watch"] = "watch"
    active: bool


class OperationTimeRecord(ProtocolRecord):
    """The time of an operation in a call, in seconds."""

    seconds: float = Field(description="In the operation itself, over all executions.")
    within: float | None = Field(default=None, description="In the functions that it calls.")
    executions: int = Field(description="Number of executions.")
    ran_as: str | None = Field(
        default=None, description="The operation that ran instead, if optimised."
    )


class GraphTimesRecord(ProtocolRecord):
    """The times of a call of a graph, in seconds."""

    seconds: float = Field(description="Sum over all operations.")
    others: float = Field(description="Sum over operations that are not found in the graph.")


class GraphBefore(ProtocolRecord):
    """The first graph's version of an operation that both graphs have but that differs."""

    type: int = Field(description="As in `GraphPart`; likewise the other fields.")
    inputs: list[int]
    outputs: list[int]
    device: int
    place: int | None = None
    calls: list[int] | None = None
    controls: list[int] | None = None
    value: str | None = None


class GraphPart(ProtocolRecord):
    """The operations of a graph or of a function that it calls; lists have one item each."""

    name: str = Field(description="Name of the function; empty for the graph itself.")
    names: list[str]
    types: list[int] = Field(description="Index of each type in `texts`.")
    inputs: list[list[int]] = Field(
        description="Alternating: index of an operation, index of its result."
    )
    outputs: list[list[int]] = Field(
        description="Index of dtype and shape of each result in `texts`."
    )
    devices: list[int] = Field(description="Index of each device in `texts`.")
    places: list[int | None] = Field(description="Index of the source line in `places`.")
    calls: dict[int, list[int]] = Field(
        description="Indices of the parts that an operation calls, such as a loop's body."
    )
    values: dict[int, str] = Field(description="The value of a constant, if it is short.")
    controls: dict[int, list[int]] | None = Field(
        default=None, description="Operations that it depends on without using a result."
    )
    times: dict[int, OperationTimeRecord] | None = Field(
        default=None, description="Times of the operations that ran in the measured call."
    )


class GraphRecord(ProtocolRecord):
    """The graph of a trace, or two graphs merged."""

    title: str
    trace: str | None = Field(
        default=None, description="Python expression of the trace, if a name leads to it."
    )
    save: str | None = Field(
        default=None, description="Python that saves it, to which a file name is appended."
    )
    texts: list[str] = Field(description="Distinct types, devices, and dtypes with shape.")
    places: list[CodePlace] = Field(description="Distinct source lines.")
    parts: list[GraphPart] = Field(description="The graph itself, then functions that it calls.")
    inputs: list[int] = Field(description="The operations of the arguments.")
    outputs: list[int] = Field(description="The operations of the results.")
    captures: dict[int, str] = Field(
        description="The notebook's name of the capture, by operation."
    )
    total: int = Field(description="Number of operations, including those left out.")
    sides: list[str] | None = Field(default=None, description="The names of two merged graphs.")
    removed: list[int] = Field(description="Operations that only the first has.")
    added: list[int] = Field(description="Operations that only the second has.")
    changed: dict[int, list[str]] = Field(description="What differs in operations of both.")
    before: dict[int, GraphBefore] | None = Field(
        default=None, description="The first graph's version of changed operations."
    )
    times: GraphTimesRecord | None = Field(
        default=None, description="The total times of a measured call."
    )
    values: dict[int, list[str]] | None = Field(
        default=None,
        description="What the newest look at values saw, by index of the source line in `places`.",
    )


class SavedView(ProtocolRecord):
    """What a notebook stores of a view, in the entry `MIME_TYPE` of an output."""

    view: Literal["function", "cell", "session", "page", "graph"]
    target: str | None = Field(default=None, description="Id of the function or cell.")
    page: Page | None = Field(default=None, description="The outline of a page.")
    graph: GraphRecord | None = Field(
        default=None, description="The data of a graph's picture; a page may have one."
    )
    snapshot: SnapshotMessage = Field(
        description="The newest rows when the notebook was saved; without rows for a page."
    )


class Messages(ProtocolRecord):
    """Every message, for the JSON schema."""

    saved: SavedView

    to_client: SnapshotMessage | Patch | Pages | Mark | Refused
    to_widget: Pictures
    announcement: Presence
    to_kernel: Attach | RequestSnapshot | RequestOutlines | RequestPictures | Watch


def schema() -> str:
    """Returns the JSON schema of every message, as text."""
    return json.dumps(Messages.model_json_schema(mode="serialization"), indent=2) + "\n"


if __name__ == "__main__":
    print(schema(), end="")

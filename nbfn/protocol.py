"""The messages between the kernel and the front end, as typed records.

The records are the one description of what nbfn shows: the widgets, the JupyterLab panel and the
HTML and text fallbacks all draw from them. ``labextension/src/protocol.ts`` is generated from the
JSON schema that this module prints (``python -m nbfn.protocol``).

The kernel sends a `Snapshot` when a client attaches or asks for one, then a `Patch` for each batch
of changes. Both carry the `epoch` (one per kernel start) and a sequence number; a client that sees
a gap, or another epoch, asks for a snapshot. Applying a patch means: put its rows into the tables
of the state, then take the removed rows out.

Times are seconds, sizes are bytes, and the order of rows is the order of creation.
"""

from __future__ import annotations

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

PROTOCOL = 2
"""Version of the protocol, raised only for changes that an older client cannot read."""

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
"""What the last call was; idle if there was none."""


class Record(BaseModel):
    """Base of the records: immutable, and strict about its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Cell(Record):
    """A place in the user's code."""

    id: str | None = Field(default=None, description="Id of the notebook cell, where known.")
    execution_count: int | None = Field(default=None, description="The n of In [n].")
    line: int | None = Field(default=None, description="Line in the cell, or in the file; from 1.")
    file: str | None = Field(default=None, description="File, for code outside a notebook.")
    path: str | None = Field(
        default=None, description="Its path from the kernel's folder, if it is in there."
    )


class Leaf(Record):
    """One leaf of a call's arguments, as the trace cache keys it."""

    path: str = Field(description="The argument's path, such as batch['images'][0].")
    type: str = Field(description="What is keyed, such as float32[64, 10] or int 3.")


class Cause(Record):
    """One reason why a call found no trace."""

    code: CauseCode
    path: str | None = Field(default=None, description="Path of the argument that differs.")
    old: str | None = Field(default=None, description="What the nearest trace was made for.")
    new: str | None = Field(default=None, description="What the call brought.")
    sentence: str


class Remedy(Record):
    """What to change so that the same calls do not retrace."""

    sentence: str
    code: str | None = Field(default=None, description="Python that works when pasted in a cell.")


class FunctionRecord(Record):
    """A traced function."""

    id: str
    name: str
    parameters: str = Field(description="Its parameters as text, such as (images, labels).")
    cell: Cell | None = Field(default=None, description="Where it was defined.")
    calls: int
    hits: int
    traces: int = Field(description="Traces in the cache now.")
    retraces: int = Field(description="Misses after the first trace.")
    trace_seconds: float
    run_seconds: float
    nbytes: int = Field(description="Size of the GraphDefs of its traces.")
    last: Literal["hit", "trace", "retrace"] | None = Field(
        default=None, description="What the last call was."
    )
    last_trace: str | None = Field(default=None, description="Id of the trace that served last.")
    last_retrace: str | None = Field(default=None, description="Id of the newest retrace.")


class TraceRecord(Record):
    """One trace: a graph in the trace cache of a function."""

    id: str
    function: str
    number: int = Field(description="Its number among the function's traces, from 1.")
    signature: list[Leaf]
    cause: Cause
    cell: Cell | None = Field(default=None, description="The call that made it.")
    time: float = Field(description="When it was made, in seconds since 1970.")
    hits: int
    trace_seconds: float
    run_seconds: float
    operations: int
    nbytes: int = Field(description="Size of its GraphDef.")
    captures: list[str] = Field(description="Ids of the captured variables.")


class RetraceRecord(Record):
    """A miss: a call that made a new trace although the function had one."""

    id: str
    function: str
    trace: str = Field(description="Id of the trace it made; empty once that has been evicted.")
    number: int = Field(description="Its number among the function's retraces, from 1.")
    causes: list[Cause]
    nearest: list[str] = Field(description="Ids of all nearest traces, which it was compared with.")
    cell: Cell | None = Field(default=None, description="The call that missed.")
    time: float = Field(description="When it was, in seconds since 1970.")
    trace_seconds: float
    remedy: Remedy | None = None
    settled: bool = Field(default=False, description="Whether its trace has been replaced since.")


class Segment(Record):
    """Statements of a traced cell that run as one graph."""

    function: str = Field(description="Id of its function.")
    first: int = Field(description="Its first line in the cell, from 1.")
    last: int = Field(description="Its last line.")
    seconds: float | None = Field(default=None, description="What a run as a graph takes.")
    eager_seconds: float | None = Field(default=None, description="What a run as Python takes.")


class TracedCellRecord(Record):
    """A cell that runs in segments: graph where it is graph, Python where it is Python."""

    id: str
    name: str
    cell: Cell | None = Field(default=None, description="The notebook cell that ran it last.")
    source: str = Field(description="Its Python, line for line; the magic's own line is empty.")
    lines: dict[int, str | None] = Field(
        description="For each line with code why it is Python; null where it runs in a graph."
    )
    sentence: str = Field(description="How many statements run in graphs, and on which lines.")
    python: list[str] = Field(description="What is Python and why, such as line 4 prints.")
    segments: list[Segment] = Field(description="What runs in graphs, in the order of the text.")
    draws: bool = Field(
        default=False, description="Whether a graph draws other random numbers than Python would."
    )
    functions: list[str] = Field(
        description="Ids of the functions of all its segments, also of those that are Python again."
    )
    graph_statements: int = Field(description="Statements that run in graphs.")
    statements: int
    seconds: float = Field(description="What the last run took.")
    eager_seconds: float = Field(description="What it would have taken as Python.")
    runs: int
    call: CallKind = Field(
        default="idle", description="The most notable that the last run's graphs were."
    )
    speedup: float | None = Field(
        default=None,
        description="How many times faster than as Python the last run was; null where a run that "
        "traced cannot be compared.",
    )


class VariableRecord(Record):
    """A variable, tensor or other resource that a trace captured."""

    id: str
    kind: Literal["variable", "tensor", "resource"] = "variable"
    name: str = Field(description="The notebook's name for it, such as model/hidden/kernel.")
    shape: list[int | None] | None
    dtype: str
    device: str
    nbytes: int | None
    trainable: bool


class DeviceRecord(Record):
    """A logical device that TensorFlow can place operations on."""

    id: str = Field(description="TensorFlow's full name for it.")
    kind: str = Field(description="CPU, GPU or TPU.")
    name: str = Field(default="", description="Its short name, such as GPU:0.")


class ModelRecord(Record):
    """A module, Keras model or layer; its tree is an outline."""

    id: str = Field(description="The notebook's name for it.")
    label: str = Field(description="Its class.")
    sizes: str = Field(description="How much there is of it, in words.")
    parameters: int | None = Field(description="Elements of its variables.")


class RunRecord(Record):
    """A run of a notebook cell, or several in a row, so that hours stay a few rows."""

    id: str
    cell: Cell = Field(description="The cell; of several, the one that took longest.")
    first: int | None = Field(default=None, description="The n of its In [n], or of the first.")
    last: int | None = Field(default=None, description="The n of the last one's.")
    runs: int = Field(default=1, description="How many runs it stands for.")
    time: float = Field(description="When it began, in seconds since 1970.")
    end: float = Field(description="When it, or the last one, ended; as told, if it goes on.")
    seconds: float = Field(description="What it took, without pauses between several.")
    tracing: float = Field(description="Seconds of those that went into making traces.")
    graph: float = Field(description="Seconds that went into running graphs; Python is the rest.")
    sampled: float = Field(
        default=0, description="Seconds of graph that were not measured, but seen now and then."
    )
    elsewhere: float = Field(
        default=0, description="Seconds of calls on other threads meanwhile, beside the others."
    )
    calls: int = 0
    traces: int = 0
    watched: int = Field(default=0, description="Calls whose copies between devices are known.")
    copies: int = Field(default=0, description="Copies between devices in those.")
    copied_nbytes: int = 0
    longest: float = Field(description="What the longest run took.")
    failed: int = Field(default=0, description="How many raised an error.")
    interrupted: int = 0
    running: bool = Field(default=False, description="Whether it goes on.")
    segments: str | None = Field(
        default=None, description="Of a cell in segments, what ran in graphs, in words."
    )
    memory: int | None = Field(
        default=None, description="Bytes that the process held at its end, the most of several."
    )
    devices: dict[str, list[int]] | None = Field(
        default=None,
        description="What TensorFlow had on each device then, and the most until then, in bytes.",
    )


class WorkRecord(Record):
    """Work that has taken over a second and goes on."""

    id: str
    kind: Literal["trace", "run", "loop", "export"]
    name: str = Field(description="What is worked on, such as train_step.")
    function: str | None = Field(default=None, description="Id of the function, if it is listed.")
    sentence: str = Field(description="What is done, since when, and how far it is.")
    seconds: int = Field(description="Whole seconds since it began.")
    done: int | None = Field(default=None, description="How much is done, where that is known.")
    total: int | None = Field(default=None, description="How much there is, where that is known.")


class State(Record):
    """Tables of records by id."""

    cells: dict[str, TracedCellRecord] = Field(default_factory=dict)
    functions: dict[str, FunctionRecord] = Field(default_factory=dict)
    traces: dict[str, TraceRecord] = Field(default_factory=dict)
    retraces: dict[str, RetraceRecord] = Field(default_factory=dict)
    # Only the kernel has these: pages draw the outline that is made of them.
    variables: dict[str, VariableRecord] = Field(default_factory=dict, exclude=True)
    devices: dict[str, DeviceRecord] = Field(default_factory=dict)
    models: dict[str, ModelRecord] = Field(default_factory=dict)
    runs: dict[str, RunRecord] = Field(default_factory=dict)
    work: dict[str, WorkRecord] = Field(default_factory=dict)


class Removed(Record):
    """Ids of rows to take out of the tables."""

    cells: list[str] = Field(default_factory=list)
    functions: list[str] = Field(default_factory=list)
    traces: list[str] = Field(default_factory=list)
    retraces: list[str] = Field(default_factory=list)
    variables: list[str] = Field(default_factory=list, exclude=True)
    devices: list[str] = Field(default_factory=list)
    models: list[str] = Field(default_factory=list)
    runs: list[str] = Field(default_factory=list)
    work: list[str] = Field(default_factory=list)


class Totals(Record):
    """How much there is of everything, also of what the tables leave out.

    Every view shows these numbers, and counts nothing itself.
    """

    functions: int = Field(
        default=0,
        description="Traced and watched functions that exist, besides those of cells in segments.",
    )
    cells: int = Field(default=0, description="Cells in segments that have run.")
    calls: int = Field(default=0, description="Calls of the functions, those of cells included.")
    hits: int = Field(default=0, description="Calls that a trace served which was there.")
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


Verdict = Literal["passed", "failed", "refused", "unproven"]


class Phrase(Record):
    """Words that lead to something, or that judge: code for a cell, a place, a page, a verdict."""

    text: str = Field(description="The words; backticks enclose code.")
    code: str | None = Field(default=None, description="Python that works when pasted in a cell.")
    cell: Cell | None = Field(default=None, description="The place, or where the code is needed.")
    page: str | None = Field(default=None, description="Address of a page of the documentation.")
    verdict: Verdict | None = Field(default=None, description="What came of a check.")


class PageTable(Record):
    """A table of a page, which folds."""

    title: str
    header: list[str]
    rows: list[list[str | Phrase]] = Field(description="The first rows, or the newest.")
    total: int = Field(description="How many rows there are.")
    open: bool = Field(description="Whether it is unfolded at first.")
    kind: Literal["plain", "sides", "code", "tree"] = Field(
        default="plain",
        description="Sides: the last two columns are to be compared. Code: lines of a cell. Tree: "
        "rows may be parts of the row above.",
    )
    depths: list[int] = Field(default_factory=list, description="How deep each row of a tree is.")
    closed: list[int] = Field(
        default_factory=list, description="Rows of a tree that are closed at first, from 0."
    )
    newest: bool = Field(
        default=False, description="Whether the rows are the newest, newest first."
    )


class DiagramNode(Record):
    """A box of a diagram."""

    id: str
    kind: str = Field(description="Of what sort it is, such as cell, function or device.")
    label: str
    lines: list[str] = Field(default_factory=list, description="What more there is to say.")
    marked: bool = Field(default=False, description="Whether it needs attention.")
    cell: Cell | None = Field(default=None, description="The place that it leads to.")


class DiagramEdge(Record):
    """An arrow of a diagram."""

    source: str = Field(description="Id of the box where it begins.")
    target: str = Field(description="Id of the box where it ends.")
    label: str = ""
    marked: bool = Field(default=False, description="Whether it needs attention.")


class Diagram(Record):
    """Boxes and arrows. Tables beside it say the same in words."""

    nodes: list[DiagramNode]
    edges: list[DiagramEdge]


class Page(Record):
    """An outline: what there is to say about a function, a cell, a model or a result."""

    title: str
    call: CallKind | None = Field(default=None, description="Of a function or a cell.")
    status: str | Phrase | None = Field(
        default=None, description="A sentence that stands beside the title."
    )
    lines: list[str | Phrase] = Field(description="Sentences; backticks enclose code.")
    facts: list[str | Phrase] = Field(
        default_factory=list, description="Times and sizes, which no stored text has."
    )
    summary: str | None = Field(
        default=None, description="The title of the fold that holds facts, tables and groups."
    )
    tables: list[PageTable]
    groups: list[Page] = Field(description="Its parts, which fold.")
    open: bool = Field(description="Whether it is unfolded at first, within another.")
    diagram: Diagram | None = None
    verdict: Verdict | None = Field(default=None, description="What came of a check.")


class Snapshot(Record):
    """The whole state. A client drops what it knew and takes this."""

    type: Literal["snapshot"] = "snapshot"
    protocol: int = PROTOCOL
    epoch: str = Field(description="Random, one per kernel start.")
    seq: int
    nbfn: str = Field(description="Version of nbfn in the kernel.")
    tensorflow: str | None = Field(default=None, description="Version of TensorFlow, if imported.")
    auto: bool = Field(default=False, description="Whether %tf_auto is on.")
    documentation: str | None = Field(
        default=None, description="Address of the documentation, if it is known."
    )
    totals: Totals | None = None
    state: State
    pages: dict[str, Page | None] = Field(
        default_factory=dict, description="The outlines that the client shows, by their targets."
    )


class Patch(Record):
    """What changed since the message with the sequence number before."""

    type: Literal["patch"] = "patch"
    epoch: str
    seq: int
    tensorflow: str | None = Field(default=None, description="Version of TensorFlow, if imported.")
    auto: bool = Field(default=False, description="Whether %tf_auto is on.")
    totals: Totals
    put: State
    removed: Removed
    pages: dict[str, Page | None] = Field(
        default_factory=dict,
        description="The outlines that the client shows and that have changed; null if there is "
        "no such function or cell any more.",
    )


class Pages(Record):
    """The outlines that a client shows now and did not show before."""

    type: Literal["pages"] = "pages"
    epoch: str
    pages: dict[str, Page | None]


class Mark(Record):
    """How far the messages have come; a client that knows less has missed some."""

    type: Literal["mark"] = "mark"
    epoch: str
    seq: int = Field(description="Number of the last patch.")


class Refused(Record):
    """The kernel's answer to a client that speaks another protocol."""

    type: Literal["refused"] = "refused"
    protocol: int = PROTOCOL
    nbfn: str
    message: str


class Presence(Record):
    """What the kernel says on its presence comm when nbfn has been loaded."""

    type: Literal["presence"] = "presence"


class Attach(Record):
    """What a client sends when it opens the comm."""

    type: Literal["attach"] = "attach"
    protocol: int
    nbfn: str = Field(description="Version of the front end.")
    page: str | None = Field(
        default=None,
        description="Random, one per page; its newest comm takes the place of those before.",
    )


class RequestSnapshot(Record):
    """A client that has lost the thread asks for the whole state."""

    type: Literal["request_snapshot"] = "request_snapshot"


class Look(Record):
    """A client says which outlines it shows now; it gets these, and again when they change."""

    type: Literal["look"] = "look"
    targets: list[str] = Field(
        description="Ids of functions and cells, or names of parts of the session."
    )


class RequestPictures(Record):
    """A widget asks for the bundle of the pictures, which the first of them needs."""

    type: Literal["request_pictures"] = "request_pictures"


class Pictures(Record):
    """The bundle of the pictures, as the source of a JavaScript module."""

    type: Literal["pictures"] = "pictures"
    source: str


class Watch(Record):
    """A client that nobody looks at asks for no patches; later, for a snapshot and patches."""

    type: Literal["watch"] = "watch"
    active: bool


class OperationTime(Record):
    """How long an operation took in a call, in seconds."""

    seconds: float = Field(description="Itself, in all of its executions.")
    within: float | None = Field(
        default=None, description="What ran in the functions that it calls."
    )
    executions: int = Field(description="How often it was executed itself.")
    ran_as: str | None = Field(
        default=None, description="What ran in its place, if the optimiser changed it."
    )


class GraphTimes(Record):
    """The times of a call of a graph, in seconds."""

    seconds: float = Field(description="What all operations took together.")
    others: float = Field(description="What those took whose place in the graph is not known.")


class GraphBefore(Record):
    """What the first of two graphs has of an operation that both have, if it is not the same."""

    type: int = Field(description="As in a part, like everything that follows.")
    inputs: list[int]
    outputs: list[int]
    device: int
    place: int | None = None
    calls: list[int] | None = None
    controls: list[int] | None = None
    value: str | None = None


class GraphPart(Record):
    """The operations of a graph or of a function that it calls: the n-th of each list is one's."""

    name: str = Field(description="Name of the function; empty for the graph itself.")
    names: list[str]
    types: list[int] = Field(description="Where each type stands among the texts.")
    inputs: list[list[int]] = Field(
        description="For each result that is taken its operation, then which of its results it is."
    )
    outputs: list[list[int]] = Field(
        description="Where dtype and shape of each result stand among the texts."
    )
    devices: list[int] = Field(description="Where each device stands among the texts.")
    places: list[int | None] = Field(description="Where the user's line stands among the places.")
    calls: dict[int, list[int]] = Field(
        description="Which parts an operation calls, such as the body of a loop."
    )
    values: dict[int, str] = Field(description="The value of a constant, if it is short.")
    controls: dict[int, list[int]] | None = Field(
        default=None, description="Which operations one waits for without taking a result."
    )
    times: dict[int, OperationTime] | None = Field(
        default=None, description="How long those took that ran in the call that was measured."
    )


class GraphRecord(Record):
    """The graph of a trace, or those of two as one."""

    title: str
    trace: str | None = Field(
        default=None, description="Python that gives the trace, where a name leads to it."
    )
    save: str | None = Field(
        default=None, description="What saves it: a line to which a file's name is added."
    )
    texts: list[str] = Field(description="Each type, device, and dtype with shape, once.")
    places: list[Cell] = Field(description="Each of the user's lines, once.")
    parts: list[GraphPart] = Field(description="First the graph itself.")
    inputs: list[int] = Field(description="The operations that stand for arguments.")
    outputs: list[int] = Field(description="The operations that give the results.")
    captures: dict[int, str] = Field(
        description="The notebook's name of what an operation stands for."
    )
    total: int = Field(description="How many operations there are, also those that are left out.")
    sides: list[str] | None = Field(
        default=None, description="The names of two graphs, if it is of two."
    )
    removed: list[int] = Field(description="Operations that only the first has.")
    added: list[int] = Field(description="Operations that only the second has.")
    changed: dict[int, list[str]] = Field(description="What differs in operations of both.")
    before: dict[int, GraphBefore] | None = Field(
        default=None, description="Operations of both as the first has them, where that differs."
    )
    times: GraphTimes | None = Field(
        default=None, description="Of a call that was measured: its times as a whole."
    )


class SavedView(Record):
    """What a notebook keeps of a view, in the entry `MIME_TYPE` of an output."""

    view: Literal["function", "cell", "session", "page", "graph"]
    target: str | None = Field(default=None, description="Id of the function or cell.")
    page: Page | None = Field(default=None, description="What a page says.")
    graph: GraphRecord | None = Field(
        default=None, description="What the picture of a graph is drawn from; a page may have one."
    )
    snapshot: Snapshot = Field(
        description="The newest rows when the notebook was saved; of a page, its kernel only."
    )


class Messages(Record):
    """Every message, for the JSON schema."""

    saved: SavedView

    to_client: Snapshot | Patch | Pages | Mark | Refused
    to_widget: Pictures
    announcement: Presence
    to_kernel: Attach | RequestSnapshot | Look | RequestPictures | Watch


def schema() -> str:
    """Returns the JSON schema of every message, as text."""
    return json.dumps(Messages.model_json_schema(mode="serialization"), indent=2) + "\n"


if __name__ == "__main__":
    print(schema(), end="")

"""The line magics, which show the session or one function."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, magics_class
from IPython.core.magic_arguments import argument
from IPython.display import display

from nbfn.notebook.magics.line_arguments import (
    call_in,
    functions_of,
    magic,
    named_value,
    one_line,
    refuse_several,
    show,
)
from nbfn.text import numbered

_CALL = argument("call", nargs="+", help="a call, such as train_step(images, labels)")
_FUNCTIONS = argument(
    "function",
    nargs="*",
    help="name of a traced function, or an expression such as model.step (default: all)",
)


@magics_class
class LineMagics(Magics):
    """The line magics."""

    @magic(
        argument(
            "path",
            nargs="*",
            help="a variable, or an object that holds variables, to see the values",
        )
    )
    def tf_session(self, arguments: Namespace) -> Any:
        """Show what the notebook holds, or the values of variables.

        Python: ``nbfn.session()``, ``nbfn.session().statistics(path)``.

        Examples::

            %tf_session
            %tf_session model/hidden
        """
        from nbfn.sessions.session import SessionKeyError, session

        path = " ".join(arguments.path)
        try:
            return session().statistics(path) if path else session()
        except SessionKeyError as error:
            raise UsageError(str(error)) from None

    @magic(_FUNCTIONS)
    def tf_traces(self, arguments: Namespace) -> None:
        """Show the traces of functions, and why each was made.

        Python: ``f.traces``, ``f.retraces``.

        Examples::

            %tf_traces train_step
        """
        from nbfn.outlines.function_outline import traces_outline
        from nbfn.sessions.messages.feed import feed

        for function in functions_of(self.shell, arguments.function):
            show(traces_outline(feed().rows_of(function, None), function.id))

    @magic(
        argument(
            "call", nargs="+", help="a call, such as train_step(images, labels), or a function"
        )
    )
    def tf_explain(self, arguments: Namespace) -> None:
        """Show which trace would serve a call, or why none would. Nothing is traced or run.

        With only the name of a function, show why it last retraced.

        Python: ``f.explain(…)``, ``f.retraces[-1]``.

        Examples::

            %tf_explain train_step(images[:37], labels[:37])
            %tf_explain train_step
        """
        from nbfn.views.pages.explanation_outline import explanation_outline, retrace_outline

        name = arguments.line
        if not name.endswith(")"):
            retraces = [f.retraces[-1] for f in functions_of(self.shell, [name]) if f.retraces]
            if not retraces:
                raise UsageError(
                    f"`{name}` has not retraced; explain a call instead, as in "
                    f"%tf_explain {name}(x)"
                )
            for retrace in retraces:
                show(retrace_outline(retrace))
            return
        function, args, kwargs = call_in(self.shell, arguments.line)
        with one_line(TypeError):
            explanation = function.explain(*args, **kwargs)
        show(explanation_outline(explanation, arguments.line))

    @magic(_FUNCTIONS)
    def tf_captures(self, arguments: Namespace) -> None:
        """Show the variables and tensors that functions captured, under the notebook's names.

        Python: ``f.captures``.
        """
        from nbfn.views.pages.results import captures_outline

        for function in functions_of(self.shell, arguments.function):
            show(captures_outline(function.captures, function.label + function.parameters))

    @magic(_CALL)
    def tf_placement(self, arguments: Namespace) -> None:
        """Make a call, and show on which device each operation ran and what was copied.

        It is a real call: variables change as they always do. Python: ``f.run(…).placement``.
        """
        from nbfn.views.pages.placement_outline import placement_outline

        function, args, kwargs = call_in(self.shell, arguments.line)
        show(placement_outline(function.run(*args, **kwargs).placement, arguments.line))

    @magic(
        argument("function", nargs="+", help="name of a traced function, or a call of one"),
        argument("--time", action="store_true", help="make the call, and time each operation"),
        argument(
            "-t",
            "--trace",
            type=int,
            help="number of the trace (default: the one that would serve the call, or the newest)",
        ),
        argument("--op", metavar="NAME", help="find operations by name or type, such as *MatMul*"),
        argument(
            "--save",
            metavar="FILE",
            help="write a new file: .json for Model Explorer, else the GraphDef as text",
        ),
    )
    def tf_graph(self, arguments: Namespace) -> None:
        """Show the operations of a trace's graph, by name scope.

        With ``--time`` it makes a real call: variables change as they always do.

        Python: ``trace``, ``trace.graph_def()``; ``f.run(…, metadata=True).times``.

        Examples::

            %tf_graph train_step --trace 2
            %tf_graph train_step(images, labels)
            %tf_graph train_step --op MatMul
            %tf_graph --time train_step(images, labels)
        """
        from nbfn.notebook.cells.cell_options import unquoted
        from nbfn.views.bundle import graph_bundle, metadata_of
        from nbfn.views.graphs.graph_outline import found_operations

        if arguments.time:
            if not (arguments.trace is arguments.op is arguments.save is None):
                raise UsageError("--time shows the call; it takes no other option")
            self._show_times(" ".join(arguments.function))
            return
        asked = " ".join(arguments.function)
        number = arguments.trace
        if asked.endswith(")"):
            function, args, kwargs = call_in(self.shell, asked)
            with one_line(TypeError):
                explanation = function.explain(*args, **kwargs)
            if number is None:
                if explanation.trace is None:
                    raise UsageError(f"no trace serves {asked}: it {explanation}")
                number = explanation.trace.number
        else:
            function = named_value(self.shell, asked)
            refuse_several(asked, function)
        traces = {trace.number: trace for trace in function.traces}
        if not traces:
            raise UsageError(f"`{function.label}` has no trace yet; call it first")
        if number is None:
            number = max(traces)
        if number not in traces:
            listed = numbered("trace", list(traces))
            raise UsageError(f"`{function.label}` has no trace {number}; it has {listed}")
        if arguments.save is not None:
            _save_graph(traces[number], unquoted(arguments.save) or "")
        pattern = unquoted(arguments.op)
        if pattern is None:
            bundle = graph_bundle(traces[number], function.label)
            display(bundle, metadata=metadata_of(bundle), raw=True)
            return
        found = found_operations(function.label, traces[number], pattern)
        if found is None:
            raise UsageError(f"no operation of trace {number} matches `{pattern}`")
        show(found)

    def _show_times(self, call: str) -> None:
        from nbfn.functions.calls.operation_times import ProfilerBusyError
        from nbfn.views.bundle import metadata_of, times_bundle

        function, args, kwargs = call_in(self.shell, call)
        with one_line(ProfilerBusyError):
            times = function.run(*args, metadata=True, **kwargs).times
        if times is None:
            raise UsageError("this TensorFlow does not report the times of operations")
        bundle = times_bundle(times, call)
        display(bundle, metadata=metadata_of(bundle), raw=True)

    @magic(
        argument(
            "stance",
            nargs="?",
            choices=("default", "fail_on_retrace", "eager", "eager_on_retrace", "check_numerics"),
            help="the stance from now on; without one, the current stance is shown",
        )
    )
    def tf_stance(self, arguments: Namespace) -> None:
        """Set what calls do from now on if they would retrace or produce NaN.

        For a block of code, in Python: ``with nbfn.stance("fail_on_retrace"):``.
        """
        from nbfn.functions.recording.stance import set_stance, stance_of

        wanted = arguments.stance
        if wanted is not None:
            set_stance(wanted)
        print(f"stance: {stance_of('', None)}")  # noqa: T201

    @magic(_CALL)
    def tf_numerics(self, arguments: Namespace) -> None:
        """Find the lines where a call produces NaN or infinity, and why. All changes are undone.

        Python: ``f.numerics(…)``; ``nbfn.stance("check_numerics")`` stops where it happens.

        Examples::

            %tf_numerics train_step(images, labels)
        """
        from nbfn.views.pages.inside import numerics_outline

        function, args, kwargs = call_in(self.shell, arguments.line)
        with one_line(TypeError, NotImplementedError):
            found = function.numerics(*args, **kwargs)
        show(numerics_outline(found))

    @magic(_CALL)
    def tf_lines(self, arguments: Namespace) -> None:
        """Time the lines of a function in a call, the slowest first. All changes are undone.

        Python: ``nbfn.lines(f, …)``.

        Examples::

            %tf_lines train_step(images, labels)
        """
        from nbfn.functions.graphs.lines import lines
        from nbfn.views.pages.inside import lines_outline

        function, args, kwargs = call_in(self.shell, arguments.line)
        with one_line(TypeError, NotImplementedError, RuntimeError):
            found = lines(function, *args, **kwargs)
        show(lines_outline(found))

    @magic(
        argument("objects", nargs="*", help="names of tf.functions, Keras models, tf.Modules"),
        argument(
            "--all", action="store_true", help="watch every tf.function that traces from now on"
        ),
        argument("--stop", action="store_true", help="stop watching what --all has added"),
    )
    def tf_watch(self, arguments: Namespace) -> Any:
        """Observe tf.functions that nbfn did not make, without changing them.

        Python: ``nbfn.watch(obj)``.

        Examples::

            %tf_watch model
        """
        from nbfn.functions.watching.watch import discover, stop_discovering, watch

        if arguments.all and arguments.stop:
            raise UsageError("give --all or --stop, not both")
        if arguments.stop:
            stop_discovering()
        elif arguments.all and not discover():
            raise UsageError("this TensorFlow does not report new traces; name what to watch")
        elif not arguments.all and not arguments.objects:
            raise UsageError("name what to watch, or give --all")
        with one_line(TypeError, ValueError):
            observers = [watch(named_value(self.shell, each, True)) for each in arguments.objects]
        return observers[0] if len(observers) == 1 else observers or None

    @magic(
        argument("path", help="folder of the model"),
        argument(
            "functions",
            nargs="*",
            default=[],
            help="names of the functions (default: all that have a trace)",
        ),
        argument("--overwrite", action="store_true", help="replace the SavedModel at the path"),
        argument("--no-verify", action="store_true", help="do not verify it in a fresh process"),
        argument(
            "--time-limit",
            type=float,
            default=60.0,
            help="time limit in seconds for each call of the verification",
        ),
        argument(
            "--strict",
            action="store_true",
            help="fail if a signature could not be verified with any inputs",
        ),
    )
    def tf_export(self, arguments: Namespace) -> Any:
        """Write functions as a SavedModel, and verify its results in a fresh process.

        Python: ``nbfn.export(path)``.

        Examples::

            %tf_export model predict --overwrite
        """
        from nbfn.errors import NbfnError
        from nbfn.notebook.cells.cell_options import unquoted
        from nbfn.sessions.export.export import export
        from nbfn.sessions.export.place import ExportExistsError

        named_ones = [named_value(self.shell, each, any_value=True) for each in arguments.functions]
        path = unquoted(arguments.path) or ""
        if not named_ones and hasattr(self.shell.user_ns.get(path), "traces"):
            raise UsageError(
                f"`{path}` is a function; write the folder first: %tf_export FOLDER {path}"
            )
        try:
            with one_line(NbfnError):
                return export(
                    path,
                    named_ones or None,
                    overwrite=arguments.overwrite,
                    verify=not arguments.no_verify,
                    strict=arguments.strict,
                    time_limit=arguments.time_limit,
                )
        except UsageError as error:
            if isinstance(error.__context__, ExportExistsError) and not arguments.overwrite:
                raise UsageError(f"`{path}` exists; give --overwrite to replace it") from None
            raise


def _save_graph(trace: Any, file: str) -> None:
    """Writes the GraphDef as text, or JSON for Model Explorer if the name ends with ``.json``."""
    from nbfn.functions.graphs.model_explorer import model_explorer
    from nbfn.functions.graphs.operations import graph_of

    is_json = file.endswith(".json")
    try:
        with Path(file).open("x", encoding="utf-8") as target:
            target.write(
                model_explorer(f"trace {trace.number}", graph_of(trace))
                if is_json
                else str(trace.graph_def())
            )
    except OSError as error:
        raise UsageError(f"--save: {error}") from None

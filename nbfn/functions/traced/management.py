"""What keeps a traced function small: fewer, more general traces, and none that is not needed."""

from __future__ import annotations

from typing import cast

from nbfn import _tensorflow
from nbfn.functions.recording import eviction
from nbfn.functions.recording.eviction import Freed
from nbfn.functions.recording.recorded import Recorded
from nbfn.functions.recording.recorder import Recorder
from nbfn.functions.recording.stance import Stance, checked
from nbfn.functions.signatures import relaxing
from nbfn.functions.signatures.cover import Cover
from nbfn.functions.traces.trace import Trace


class Management:
    """What may be done to a function's traces, and to how its calls trace."""

    recorder: Recorder

    @property
    def stance(self) -> Stance | None:
        """Its own stance, which goes before `nbfn.stance`; None if it has none."""
        return self.recorder.own_stance

    @stance.setter
    def stance(self, name: Stance | None) -> None:
        self.recorder.own_stance = None if name is None else checked(name)

    @_tensorflow.no_autograph_fast
    def suggest(self) -> Cover:
        """The least general signature that covers the newest trace and its relatives.

        Returns:
            The signature; ``str`` of it can be read and pasted.

        Raises:
            RelaxError: If there is no trace yet.
        """
        return relaxing.suggest(self._function)

    @_tensorflow.no_autograph_fast
    def relax(self) -> Trace:
        """Puts `suggest` to use: one trace instead of those that it covers.

        The new trace is made at once, and serves every size that differed; Python numbers that
        differed become tensors, now and in later calls. The covered traces are evicted, and so is
        the one that created variables, which serves no call. A single trace stays as it is.

        Returns:
            The trace that covers the others.

        Raises:
            RelaxError: If there is no trace yet, if no signature covers two traces, or if the code
                cannot be traced for the signature.
        """
        return relaxing.relax(self._function)

    @_tensorflow.no_autograph_fast
    def evict(self, trace: Trace) -> None:
        """Takes a trace out of the cache; a call that needs it traces again.

        Raises:
            ValueError: If the trace is none of this function's.
        """
        eviction.evict(self._function, trace)

    @_tensorflow.no_autograph_fast
    def renew(self) -> tuple[Trace, ...]:
        """Traces anew, for the same arguments, what has baked in something that has changed since.

        The stale traces are evicted. With another `on_stale` than ``"retrace"`` nothing is done, as
        the old values are wanted.

        Returns:
            The new traces.
        """
        return relaxing.renew(self._function)

    @_tensorflow.no_autograph_fast
    def free(self) -> Freed:
        """Drops every trace and gives the memory back; the next call traces again."""
        return eviction.free(self._function)

    @property
    def _function(self) -> Recorded:
        return cast("Recorded", self)

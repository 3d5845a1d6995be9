"""Replicas of a strategy, each of which runs the Python of a cell."""

from __future__ import annotations

import tensorflow as tf


def number_of_replicas() -> int:
    """How many run what runs here; 1 outside a strategy."""
    context = tf.distribute.get_replica_context()
    return 1 if context is None else int(context.num_replicas_in_sync)

"""Running graphs: cancellation, sampling, progress, profiling."""

"""A recording as a trace for Perfetto and chrome://tracing."""

"""The programs that are started: their output, the signals that end them, and what they leave running."""

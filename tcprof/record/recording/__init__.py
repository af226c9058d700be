"""From what the user asks for to a report: the program, the metrics, the command line, the run."""

"""``python -m tcprof``: the command line without the installed script."""

from tcprof.cli import main

main()

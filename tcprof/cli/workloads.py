"""``tcprof workloads``."""

from pathlib import Path

from tcprof.cli.app import app
from tcprof.cli.options import LIST_FORMATS, ForceOption, ListFormatOption, OutputOption, choose_format
from tcprof.cli.output import print_document


@app.command(epilog="Examples: tcprof workloads;  tcprof workloads --format json")
def workloads(output_format: ListFormatOption = None, output: OutputOption = None, force: ForceOption = False) -> None:
    """List the training scripts that come with tcprof: what each shows, and the command that records it."""
    from tcprof.views.commands import view_workloads
    from tcprof.workloads import find_workloads, read_workloads

    chosen = choose_format(output_format, output, formats=LIST_FORMATS, force=force)
    folder = find_workloads()
    print_document(view_workloads(folder, read_workloads(folder, Path.cwd())), chosen, output)

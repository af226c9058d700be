"""What does the work of a job: processes of this machine, or a Dask cluster."""

from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tcprof.errors import UsageError

LOCAL = "local"  # an address: a cluster of this machine


def processes(jobs: int) -> Callable[[], Executor]:
    """Starts processes that begin anew, so that none copies the caller's threads; one job stays in this process."""
    if jobs == 1:
        return lambda: ThreadPoolExecutor(1)
    return lambda: ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


def dask(address: str) -> tuple[Callable[[], Executor], int]:
    """Starts executors on a Dask cluster: an address, the path of a scheduler file, or local.

    Returns:
        What gives an executor, and how many threads the workers have together.

    Raises:
        UsageError: Dask is not installed, or no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError("Dask is not installed.", "Install it: pip install 'tcprof[dask]'.") from error
    where = {} if address == LOCAL else {"scheduler_file" if Path(address).is_file() else "address": address}
    try:
        client = Client(**where)
    except (OSError, ValueError) as error:
        raise UsageError(f"No Dask scheduler answers at {address}: {error}.", "Check the address.") from error
    return client.get_executor, max(1, sum(client.nthreads().values()))

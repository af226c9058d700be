"""A mutation fuzzer: small recordings, changed in a few places by a seed, through one command, judged by rules."""

import os

# A fork keeps no threads, and cases run side by side: numpy, which reads this when it is imported, takes one.
os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})
os.environ["TCPROF_CACHE"] = ""  # cases are read anew

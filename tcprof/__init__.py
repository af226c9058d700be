"""tcprof: are the Tensor Cores working, where not, why, and did my change help?"""

__version__ = "0.1.0"

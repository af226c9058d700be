"""Nsight Systems as a program: find it, ask what it can do, record with it, export with it.

The only package of tcprof that starts other programs. What differs between versions of nsys on the command line
ends here. Its parts, lowest first: ``processes`` (programs that are started), ``metricset`` and ``nsys`` (the installed
program), ``machine`` and ``diagnosis`` (what every recording needs), ``plan`` and ``recording`` with what they use
(``command``, ``program``, ``sudo``, ``trial``), and ``doctor``, which checks everything. None imports a later one.
"""

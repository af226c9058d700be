"""Nsight Systems as a program: find it, ask what it can do, record with it, export with it.

The only room of tcprof that starts other programs. What differs between versions of nsys on the command line
ends here.
"""

"""Benchmarks: each does the same work our way and as a plain twin does it, in one run, and gives the ratio."""

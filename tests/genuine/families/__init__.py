"""Checkers of kernels, one file for each kind of kernel."""

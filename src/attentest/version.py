"""The version of this package: the code part of a signature."""

__version__ = "0.1.0"

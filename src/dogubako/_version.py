"""The version of this package. To ask the installed package for it would take a hundredth of a start."""

__version__ = "0.1.0"

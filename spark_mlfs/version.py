"""The version of the package; that of the distribution, in pyproject.toml, is the same."""

__version__ = "0.1.0"

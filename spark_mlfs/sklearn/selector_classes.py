"""A selector for every method of tables in memory: `help` tells what each takes, and editors read the stub."""

from .selectors import SELECTORS

__getattr__ = SELECTORS.named  # makes a class when it is first asked for

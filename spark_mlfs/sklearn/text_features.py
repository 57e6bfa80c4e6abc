"""Texts as vectors: `help` tells what it takes, and editors read the stub."""

from .texts import TEXTS

__getattr__ = TEXTS.named  # makes a class when it is first asked for

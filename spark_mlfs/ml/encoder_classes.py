"""A transformer for every encoder of files: `help` tells what each takes, and editors read the
stub."""

from .encoders import ENCODING

__getattr__ = ENCODING.named  # makes a class when it is first asked for

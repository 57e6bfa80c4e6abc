"""A selector for every method of tables in memory: `help` tells what each takes, and editors read
the stub."""

from importlib import import_module


def __getattr__(name):  # makes a class when it is first asked for
    return import_module(f"{__package__}.selectors").SELECTORS.named(name)

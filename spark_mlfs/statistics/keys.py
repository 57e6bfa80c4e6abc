"""Keys: where they are equal groups, states or results are, so that what is known already is not computed again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np


class Keyed:
    """Something that is known by its class and its fields, but for those that are left out of comparisons.

    Of what a field holds counts the key that it has itself; with `wholly` each of its fields, too, those that change no count but
    what is made of counts.
    """

    wholly: ClassVar[bool] = False

    def key(self) -> Hashable:
        """Equal keys mean equal groups, states or results."""
        return _by_fields(self, self.wholly)


def _by_fields(value: Any, wholly: bool) -> Hashable:
    fields = type(value).__dataclass_fields__.values()
    return type(value), *(_identity(getattr(value, field.name), wholly) for field in fields if field.compare)


def _identity(value: Any, wholly: bool) -> Hashable:
    """What tells one value of a field from another: of arrays their content, of what cannot be compared which one it is."""
    if isinstance(value, Keyed):
        return _by_fields(value, True) if wholly else value.key()
    if isinstance(value, tuple | list):
        return tuple(_identity(each, wholly) for each in value)
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if hasattr(value, "key"):
        return value.key
    return value if isinstance(value, Hashable) else id(value)

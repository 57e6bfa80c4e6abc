"""The files of this machine in folders, those in folders of these, too: each folder once, whatever
links lead to it.

A link stays in the folder that was given: what lies elsewhere is listed with a reason, and so is a
file that cannot be opened by its name."""

from __future__ import annotations

import fnmatch
import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import DataError
from .paths import NOT_UTF8, as_text, machine_path, matching

LEADS_OUT = "a link that leads out of the folder"
NO_FILE = "no such file"
NOT_REGULAR = "no regular file"
HIDDEN = "._"  # a name that begins so
GLOB = "*?[{"


def on_machine(path: str) -> bool:
    """Return whether a path is one of this machine, by its scheme."""
    return "://" not in path or path.lower().startswith("file:")


def inside_of(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the folders and files of this machine that links may lead to, themselves no links."""
    exact = [path for path in paths if on_machine(path) and not set(path) & set(GLOB)]
    return tuple(os.path.realpath(machine_path(path)) for path in exact)


def fault_of(name: str, inside: Sequence[str]) -> str | None:
    """Return why the file of a name is not read, None where nothing is known against it."""
    if as_text(name) != name:
        return NOT_UTF8
    real = os.path.realpath(name)
    if any(real == place or real.startswith(place.rstrip("/") + "/") for place in inside):
        return None
    return LEADS_OUT


@dataclass
class Listing:
    """Files by their names, in text, and why some of them are not read.

    `odd`: what Spark's own listing does not give: links to folders, or files with a reason."""

    inside: tuple[str, ...]
    files: dict[tuple[int, int, str], str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    odd: bool = False
    _walked: set[tuple[int, int]] = field(default_factory=set)
    _links: list[str] = field(default_factory=list)

    @staticmethod
    def of(paths: Sequence[str], inside: Sequence[str]) -> Listing:
        """Return the files that paths, folders and globs of this machine stand for.

        Raises `DataError` for one that is not there."""
        listing = Listing(tuple(inside))
        matches: dict[str, bool] = {}  # whether they are links, or stand behind one
        for path in paths:
            local = machine_path(path)
            first, deep, _ = local.partition("**")
            if os.path.exists(local):
                matches[local] = False
            elif deep:
                listing._add_deep(posixpath.dirname(first), local)
            else:
                globbed = matching(local)
                if not globbed:
                    raise DataError(f"{path}: no such file; give a path that is there")
                matches |= {name: os.path.realpath(name) != name for name in globbed}
        listing._add(matches)
        listing._follow()
        return listing

    @property
    def names(self) -> list[str]:
        """The names of all files, sorted."""
        return sorted({*self.files.values(), *self.reasons})

    def _add(self, matches: Mapping[str, bool]) -> None:
        for name in sorted(matches, key=lambda name: (matches[name], name)):
            if not os.path.isdir(name):
                self._add_file(name)
            elif matches[name]:
                self._links.append(name)
            else:
                self._walk(name)

    def _add_deep(self, base: str, pattern: str) -> None:
        """Add the files below a folder of which a part of the way fits a pattern with ``**``."""
        below = Listing.of([base], self.inside)
        parts = pattern.split("/")

        def fits(name: str) -> bool:
            way = name.split("/")
            return any(_fits(way[:stop], parts) for stop in range(1, len(way) + 1))

        self.files |= {key: name for key, name in below.files.items() if fits(name)}
        self.reasons |= {name: reason for name, reason in below.reasons.items() if fits(name)}
        self.odd |= below.odd

    def _add_file(self, name: str) -> None:
        fault = fault_of(name, self.inside)
        if fault is None and not os.path.isfile(name):
            fault = NOT_REGULAR if os.path.exists(name) else NO_FILE
        if fault is not None:
            self.reasons[as_text(name)] = fault
            self.odd = True
            return
        folder, base = os.path.split(name)
        status = os.stat(folder)
        self.files.setdefault((status.st_dev, status.st_ino, base), name)

    def _walk(self, top: str) -> None:
        """Add the files of a folder and of those in it, and note links to folders."""
        folders = [top]
        while folders:
            folder = folders.pop()
            try:
                status = os.stat(folder)
                key = (status.st_dev, status.st_ino)
                if key in self._walked:
                    continue
                self._walked.add(key)
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.name[0] not in HIDDEN:
                            self._take(entry, key, folders)
            except OSError as error:
                self.reasons[as_text(folder)] = f"cannot be read ({error.strerror})"
                self.odd = True

    def _take(self, entry: os.DirEntry[str], key: tuple[int, int], folders: list[str]) -> None:
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry.path)
        elif entry.is_symlink() and os.path.isdir(entry.path):
            self._links.append(entry.path)
        elif entry.is_file(follow_symlinks=False) and as_text(entry.path) == entry.path:
            self.files.setdefault((*key, entry.name), entry.path)
        else:
            self._add_file(entry.path)

    def _follow(self) -> None:
        """Walk what links lead to and nothing else did."""
        while self._links:
            links = sorted(self._links)
            self._links.clear()
            self.odd = True
            for link in links:
                fault = fault_of(link, self.inside)
                if fault is None:
                    self._walk(link)
                else:
                    self.reasons[as_text(link)] = fault


def _fits(way: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether the parts of a path are those of a glob, of which ``**`` is any number."""
    if not pattern:
        return not way
    if pattern[0] == "**":
        return any(_fits(way[start:], pattern[1:]) for start in range(len(way) + 1))
    return bool(way) and fnmatch.fnmatchcase(way[0], pattern[0]) and _fits(way[1:], pattern[1:])

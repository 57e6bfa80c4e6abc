"""States whose files are damaged at random are refused in one line, or rank as before; by hand
``python tests/states/test_damage.py 500``."""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from spark_mlfs import states
from spark_mlfs.errors import SparkMlfsError

METHODS = ("mim", "lasso")
IN_CI = 60


def day(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    draw = np.random.default_rng(seed)
    x = pd.DataFrame(draw.normal(size=(200, 12))).clip(-3, 3).add_prefix("f")
    weak = draw.normal(size=(200, 3))
    return x, pd.DataFrame((x.to_numpy()[:, :3] + weak > 0).astype(int)).add_prefix("t")


def flipped(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def digit(data: bytes, draw: random.Random) -> bytes:
    """Another digit in the place of one, as of a number of the manifest."""
    places = [i for i, byte in enumerate(data) if chr(byte).isdigit()]
    changed = bytearray(data)
    changed[draw.choice(places)] = ord(str(draw.randrange(10)))
    return bytes(changed)


def moved(data: bytes, draw: random.Random) -> bytes:
    first, second = sorted(draw.randrange(len(data)) for _ in range(2))
    width = draw.randint(1, 64)
    return data[:first] + data[second : second + width] + data[first + width :]


DAMAGES: list[Callable[[bytes, random.Random], bytes]] = [
    flipped,
    flipped,
    digit,
    moved,
    lambda data, draw: data[: draw.randrange(len(data))],
    lambda data, draw: data + data[: draw.randint(1, 100)],
    lambda data, draw: data[: (at := draw.randrange(len(data)))] + bytes(9) + data[at + 9 :],
]


def tries(count: int, home: Path, seed: int = 0) -> Counter[str]:
    """Count what came of so many damages: the ranking of before, or the type of the error."""
    draw = random.Random(seed)
    whole = [home / "monday", home / "tuesday"]
    monday = states.collect(*day(1), METHODS, name="monday")
    tuesday = states.collect(*day(2), METHODS, like=monday, name="tuesday")
    for kept, folder in zip((monday, tuesday), whole, strict=True):
        states.save(kept, str(folder))
    rankings = [states.rank(monday, method) for method in METHODS]
    names = sorted(path.name for path in whole[0].iterdir() if path.is_file())
    outcomes: Counter[str] = Counter()
    for number in range(count):
        folder = home / f"try-{number}"
        shutil.copytree(whole[0], folder)
        name = draw.choice(names)
        kind = draw.randrange(len(DAMAGES) + 2)
        if kind < len(DAMAGES):
            content = DAMAGES[kind]((folder / name).read_bytes(), draw)
            (folder / name).write_bytes(content)
        elif kind == len(DAMAGES):
            shutil.copy(whole[1] / name, folder / name)  # of another day
        else:
            (folder / name).unlink()
        try:
            loaded = states.load(str(folder))
            same = all(
                states.rank(loaded, method).equals(ranking)
                for method, ranking in zip(METHODS, rankings, strict=True)
            )
            outcome = "same" if same else f"another ranking: {name}, damage {kind}, try {number}"
        except SparkMlfsError as error:
            assert "\n" not in str(error)
            outcome = type(error).__name__
        except Exception as error:  # a traceback to the user
            outcome = f"{type(error).__name__} of {name}, damage {kind}, try {number}: {error}"
        outcomes[outcome] += 1
        shutil.rmtree(folder)
    return outcomes


def test_damaged_states_are_refused_or_rank_as_before(tmp_path: Path) -> None:
    outcomes = tries(IN_CI, tmp_path)
    assert set(outcomes) <= {"same", "DataError", "ParameterError"}, outcomes
    assert outcomes["DataError"] + outcomes["ParameterError"] > IN_CI / 2


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(dict(tries(int(sys.argv[1]), Path(place), seed=int(sys.argv[1]))))

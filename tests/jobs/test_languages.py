"""Words that were planted in texts of five languages are picked, and tell the tags of new texts,
through a saved pipeline of either engine."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from spark_mlfs import cli

FILLERS = {
    "de": "der Straße über können schön Fuß Mädchen für größer Tür",
    "ru": "и в не на что он как это по но ещё",
    "ar": "في من على إلى هذا التي كان مع",
    "hi": "और में का की है से को पर यह",
    "ja": "これはのがをにでともする",
}
PLANTED = {
    "de": ["Überraschung", "Gemüse"],
    "ru": ["кошка", "собака"],
    "ar": ["مدرسة", "كتاب"],
    "hi": ["हिन्दी", "विद्यालय"],
    "ja": ["東京", "経済"],
}


def corpus(languages, seed, rows=320):
    """Texts of a language each; the tags x and y say which of its planted words a text holds."""
    rng = np.random.default_rng(seed)
    table = []
    for i in range(rows):
        language = languages[i % len(languages)]
        between = "" if language == "ja" else " "
        fillers = [*FILLERS[language]] if language == "ja" else FILLERS[language].split()
        words = list(rng.choice(fillers, 8))
        tags = [tag for tag in "xy" if rng.random() < 0.5]
        for tag in tags:
            word = PLANTED[language]["xy".index(tag)]
            words.insert(int(rng.integers(0, 9)), word.upper() if i % 3 else word)
        table.append((i, between.join(words) + ("!" if i % 2 else "."), tags))
    return pd.DataFrame(table, columns=["doc", "body", "topics"])


WORDS, CHARACTERS = ["de", "ru", "ar", "hi"], ["ja"]


@pytest.mark.parametrize(
    ("languages", "engine"),
    [(WORDS, "local"), (CHARACTERS, "local"), pytest.param(WORDS, "spark", marks=pytest.mark.slow)],
    ids=str,
)
def test_planted_words(tmp_path, capfd, languages, engine):
    """That Spark gives the same bits of characters, too, is a law of `tests/texts`."""
    corpus(languages, 1).to_parquet(tmp_path / "train.parquet")
    corpus(languages, 2).to_parquet(tmp_path / "new.parquet")
    options = ["text=body", "labels=topics"]
    if languages == CHARACTERS:
        options += ["analyzer=char", "ngrams=2,2"]
    expected = {word.lower() for language in languages for word in PLANTED[language]}
    code = cli.main(
        [
            *["select", "--data", f"{tmp_path}/train.parquet", "--format", "text"],
            *[part for option in options for part in ("--option", option)],
            *["--id", "doc", "--method", "mim", "--num-top-features", str(len(expected))],
            *["--classifier", "br-svm", "--engine", engine, "--no-report"],
            *["--output", f"{tmp_path}/run"],
        ]
    )
    assert code == 0, capfd.readouterr().err
    ranking = pd.read_csv(tmp_path / "run/ranking.csv")
    assert set(ranking["name"][: len(expected)]) == expected
    code = cli.main(
        [
            *["check", "--model", f"{tmp_path}/run", "--data", f"{tmp_path}/new.parquet"],
            *["--labels-col", "topics", "--id", "doc", "--engine", "local", "--json"],
        ]
    )
    out, err = capfd.readouterr()
    assert code == 0, err
    metrics = json.loads(out[out.index("{") :])["metrics"]
    assert metrics["microF1"] > 0.95

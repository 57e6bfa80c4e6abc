"""Stop words by language, the likely language of words, and what is said of picked ones."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from spark_mlfs import cli, rank, states
from spark_mlfs.errors import DataNotice, ParameterError
from spark_mlfs.texts.stop_words import (
    LANGUAGES,
    likely_language,
    stop_words,
    stop_words_first,
)

TEXTS = {
    "german": "Der Hund und die Katze sind auf dem Dach, und sie haben dort einen Vogel gesehen",
    "english": "The dog and the cat are on the roof, and they have seen a bird there with it",
    "french": "Le chien et le chat sont sur le toit, et ils ont vu un oiseau dans la rue avec elle",
    "spanish": "El perro y el gato están en el tejado, y han visto un pájaro que no era de la casa",
    "russian": "Собака и кошка были на крыше, и они не видели там птицу, но она была у них",
    "swedish": "Hunden och katten är på taket, och de har sett en fågel som inte var där med dem",
}


def test_the_lists_are_those_of_spark():
    pyspark = pytest.importorskip("pyspark")
    (jar,) = Path(pyspark.__path__[0]).glob("jars/spark-mllib_*.jar")
    with ZipFile(jar) as files:
        for language in LANGUAGES:
            path = f"org/apache/spark/ml/feature/stopwords/{language}.txt"
            theirs = set(files.read(path).decode().split("\n")) - {""}
            more = stop_words(language) - theirs
            assert theirs <= stop_words(language)
            assert bool(more) == (language == "english") and all(word.isalpha() for word in more)


@pytest.mark.parametrize("language", TEXTS)
def test_the_likely_language(language):
    words = re.findall(r"\w+", TEXTS[language].lower())
    assert likely_language(words) == language
    assert likely_language(["oil", "crude", "wheat"]) is None


def test_a_language_without_a_list():
    with pytest.raises(ParameterError, match="no language that has a list: did you mean 'english'"):
        stop_words("English")
    with pytest.raises(ParameterError, match=r"there are danish, dutch, .*, or give the words"):
        stop_words("klingon")


def picked(language, rows=400):
    """Counts of a language's stop words and of other words, of which the former speak for tags."""
    rng = np.random.default_rng(0)
    stop = sorted(word for word in stop_words(language) if word.isalpha())[:60]
    names = [*stop, *(f"subject{i}" for i in range(60))]
    y = (rng.random((rows, 2)) < 0.5).astype(int)
    x = (rng.random((rows, 120)) < 0.1 + 0.8 * y[:, [0]] * (np.arange(120) < 60)).astype(float)
    return pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(x), columns=names), y


@pytest.mark.parametrize("language", ["german", "russian"])
def test_picked_stop_words_are_told(language):
    x, y = picked(language)
    said = rf"\d+ of the best 40 features are stop words \(.*\), which any text in {language.capitalize()} has"
    with pytest.warns(DataNotice, match=f"{said}: give stop_words='{language}' where"):
        rank(x, y, "chi2", k=40)
    with pytest.warns(DataNotice, match=said):
        states.rank(states.collect(x, y, "chi2"), "chi2", k=40)


def test_what_is_no_text_is_not_told():
    x, y = picked("english")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataNotice)
        rank(x.iloc[:, 60:], y, "chi2", k=40)  # no stop words among them
        few = [f"q{i}" for i in range(116)] + ["no", "all", "other", "some"]
        rank(x.set_axis(few, axis=1), y, "chi2", k=40)
    assert stop_words_first(range(3), ["the", "of", "and"]) is None
    runs = [
        "of the",
        "in the",
        "to be",
        "and a",
        "it is",
        "oil price",
        "the",
        "of",
        "in",
        "and",
        "it",
    ]
    assert stop_words_first(range(6), runs) == ("english", runs[:5])


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_a_language_is_left_out_by_the_command(tmp_path, engine):
    rng = np.random.default_rng(1)
    subject = ["Haus", "Vogel", "Fluss"]
    lines = ["body,tags"]
    for _ in range(120):
        place = rng.integers(3)
        words = rng.permutation([*TEXTS["german"].replace(",", "").split(), subject[place]])
        lines.append(f"{' '.join(words)},t{place}")
    (tmp_path / "texts.csv").write_text("\n".join(lines))
    options = ["text=body", "labels=tags", "label_delimiter=;", "stop_words=german"]
    given = [part for option in options for part in ("--option", option)]
    output = tmp_path / "out"
    code = cli.main(
        ["select", "--data", str(tmp_path / "texts.csv"), "--format", "text", *given, "--method",
         "chi2", "--num-top-features", "5", "--classifier", "br-svm", "--engine", engine,
         "--output", str(output), "--quiet"]
    )  # fmt: skip
    assert code == 0
    names = pd.read_csv(output / "ranking.csv")["name"]
    assert not set(names) & stop_words("german")
    assert set(names[:3]) == {word.lower() for word in subject}

"""Terms of texts by scikit-learn, with the words and the lower case that the package has."""

import random
import unicodedata

import regex
from sklearn.feature_extraction.text import TfidfVectorizer, strip_accents_unicode

# letters, marks and digits of twelve scripts; of some of Latin's the accents stand alone
SCRIPTS = {
    "latin": "aAbBeEoOzZáÀßñÑøİĳﬁ" + "e\u0301A\u030a",
    "greek": "αΑσΣςΆώ",
    "cyrillic": "аАбБйЙёЁжЖ",
    "arabic": "ابتثجحخ\u064e\u0651٣",
    "hebrew": "אבגדה\u05b0\u05b8",
    "devanagari": "अआकखगहिन्दी\u094d\u093f४",
    "tamil": "அஆகஙசி\u0bcd",
    "thai": "กขคงจ\u0e31\u0e48",
    "han": "東京都中国人民",
    "kana": "あいうカキク\u3099ー",
    "hangul": "한국어가나다",
    "georgian": "აბგდᲐᲑჰ",
}
BETWEEN = " \t\n.,;:!?'’-–—/()«»“”…·。、،؛।|\u00a0\u200b\u3000😀€+="
OTHERS = "0123456789_²½"


def random_texts(seed, count=12):
    """Return texts of a few scripts, in words that come again."""
    rng = random.Random(seed)
    scripts = rng.sample(sorted(SCRIPTS), rng.randint(1, 4))
    letters = "".join(SCRIPTS[name] for name in scripts) + OTHERS
    words = ["".join(rng.choices(letters, k=rng.randint(1, 6))) for _ in range(14)]

    def text():
        parts = [word + rng.choice(BETWEEN) * rng.randint(1, 2) for word in rng.choices(words, k=9)]
        return "".join(parts[: rng.randint(0, 9)])

    return [text() for _ in range(count)]


def random_options(seed):
    """Return options of the package's for such texts."""
    rng = random.Random(seed)
    low = rng.randint(1, 3)
    options = {
        "analyzer": rng.choice(["word", "word", "char"]),
        "min_length": rng.choice([1, 2, 2, 3]),
        "ngrams": [low, low + rng.randint(0, 2)],
        "strip_accents": rng.random() < 0.3,
        "min_df": rng.choice([1, 1, 2, 0.2]),
        "max_df": rng.choice([1.0, 1.0, 0.7, 8]),
        "weight": rng.choice(["tfidf", "tfidf", "count", "binary"]),
        "sublinear": rng.random() < 0.4,
        "norm": rng.choice(["l2", None]),
    }
    if rng.random() < 0.3:
        options["token_pattern"] = r"\p{L}[\p{L}\p{M}'’-]*"
    return options


def lower(text):
    """Return a text in Unicode's simple lower case, sign by sign."""
    return "".join(sign.lower()[0] for sign in text)


def vectorizer(options):
    """Return scikit-learn's vectorizer of these options."""
    pattern = regex.compile(options.get("token_pattern") or r"[\p{L}\p{M}\p{N}_]+")
    stop_words = {lower(word) for word in options.get("stop_words", ())}

    def normal(text):
        text = lower(unicodedata.normalize("NFC", text))
        return strip_accents_unicode(text) if options.get("strip_accents") else text

    def words(text):
        found = pattern.findall(text)
        return [w for w in found if len(w) >= options["min_length"] and w not in stop_words]

    by_char = options["analyzer"] == "char"
    limit = options["max_df"]
    weight = options["weight"]
    return TfidfVectorizer(
        analyzer="char_wb" if by_char else "word",
        preprocessor=(lambda text: " ".join(words(normal(text)))) if by_char else normal,
        tokenizer=None if by_char else words,
        token_pattern=None,
        ngram_range=tuple(options["ngrams"]),
        min_df=options["min_df"],
        max_df=limit if limit <= 1 else int(limit),
        binary=weight == "binary",
        use_idf=weight == "tfidf",
        sublinear_tf=options["sublinear"],
        norm=options["norm"],
    )

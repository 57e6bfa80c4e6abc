"""Texts in trials: which terms are features of a training set, and what they weigh.

Rows are packed as counts of terms. How many texts there are, and how many hold each term, every
training set tells of itself, as a pipeline of scikit-learn's that begins with TfidfVectorizer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import State, decode
from ..blocks.dataset import Dataset, InMemoryDataset
from ..blocks.folds import Split
from ..blocks.pack import collected
from ..formats import counts_words
from ..frames.frame import Batches
from ..read.texts import TextTable, chosen_weighting
from ..sections import Data
from ..statistics.base import accumulate
from ..texts.vocabulary import Choice, bounds_of
from ..texts.word_vectors import Weighting, idf_of
from .block_folds import blocks_of, encoded, identified
from .derived import mapped


def all_terms(data: Data) -> dict[str, Any]:
    """Return the options of a data set that read all terms which a training set of it may have."""
    options = dict(data.options)
    if counts_words(data.format) and not options.get("vocabulary"):
        options |= {"max_df": 1.0, "vocab_size": None}
        if options.get("min_df", 1) < 1:  # a share of fewer rows is fewer rows
            options["min_df"] = 1.0
    return options


@dataclass(frozen=True, eq=False)
class TermWeights:
    """How counts become features: by a `weighting`, of the terms that are the training rows'
    `choice`.

    `alphabetical` (d,): the places of the terms among their sorted names, where a number of terms
    is chosen."""

    weighting: Weighting
    choice: Choice
    alphabetical: ndarray | None = None

    @staticmethod
    def of(data: Data, names: Sequence[str]) -> TermWeights | None:
        """Return the weights of a data set whose features have these names; None of others."""
        if not counts_words(data.format):
            return None
        p = {parameter.name: parameter.default for parameter in TextTable.parameters}
        p |= TextTable().accept(data.options)
        choice = Choice(p["vocab_size"], p["min_df"], p["max_df"], p["vocabulary"])
        alphabetical = None
        if choice.listed is None and choice.size is not None:
            alphabetical = np.argsort(np.argsort(np.array(names, object)))
        return TermWeights(chosen_weighting(p), choice, alphabetical)

    def fitted(self, sums: State) -> FittedTerms:
        """Return the terms of training rows, and their weights, by the `_sums` of the rows."""
        documents, texts = int(sums["rows"][0]), sums["texts"]
        terms = np.arange(len(texts))
        if self.choice.listed is None:
            least, most = bounds_of(self.choice, documents)
            terms = np.flatnonzero((texts >= max(1, least)) & (texts <= most))
        if self.alphabetical is not None and len(terms) > (self.choice.size or 0):
            by_total = np.lexsort((self.alphabetical[terms], -sums["totals"][terms]))
            terms = np.sort(terms[by_total[: self.choice.size]])
        idf = idf_of(texts, documents) if self.weighting.weight == "tfidf" else None
        return FittedTerms(self.weighting, terms, idf)


@dataclass(frozen=True, eq=False)
class FittedTerms:
    """The `terms` that are features, by their places among all, and the `idf` (d,) of all."""

    weighting: Weighting
    terms: ndarray
    idf: ndarray | None

    def __call__(self, block: Block) -> Block:
        """Return rows of counts as rows of weights, 0 of what is no feature."""
        counts = sp.csr_matrix(block.x, dtype=np.float64)
        is_term = np.zeros(counts.shape[1], bool)
        is_term[self.terms] = True
        keep = is_term[counts.indices]
        starts = np.append(0, np.cumsum(keep))[counts.indptr]
        fields = counts.data[keep], counts.indices[keep], starts
        terms = sp.csr_matrix(fields, shape=counts.shape)
        return replace(block, x=self.weighting.rows(terms, self.idf))


@dataclass(frozen=True)
class TextRows:
    """Rows of counts, of which `splits` one after the other leave the training rows."""

    counts: Dataset
    weights: TermWeights
    splits: tuple[Split, ...] = ()

    def within(self, split: Split) -> TextRows:
        """Return the training rows of a split of these rows."""
        return replace(self, splits=(*self.splits, split))

    def fitted(self) -> FittedTerms:
        """Return the terms of these rows, and their weights; one job."""
        rows = identified(self.counts)
        of_block = partial(_sums, self.splits, self.counts.profile.d)
        states: Iterable[State]
        if isinstance(rows, InMemoryDataset):
            states = map(of_block, rows.stored)
        else:
            counted = rows.blocks().mapInArrow(partial(_sums_of_part, of_block), "state binary")
            states = (decode(bytes(row.state)) for row in collected(counted))
        return self.weights.fitted(reduce(accumulate, states))

    def side(self, terms: FittedTerms, tested: bool) -> Dataset:
        """Return the training rows, or what the last split tests, as weights of terms."""
        kind = "test" if tested else "training"
        title = f"the {kind} rows of {self.splits[-1].name}"
        rows = partial(_weighed, self.splits, tested, terms)
        return mapped(self.counts, rows, title, trained=not tested)


def _side(splits: Sequence[Split], tested: bool, block: Block) -> Block:
    """Return the rows of a block that all splits train on, or those that the last one tests."""
    for split in splits[:-1]:
        block = block.take(np.flatnonzero(~split.of(block)))
    return block.take(np.flatnonzero(splits[-1].of(block) == tested))


def _weighed(
    splits: Sequence[Split],
    tested: bool,
    terms: FittedTerms,
    block: Block,
) -> Block:
    return terms(_side(splits, tested, block))


def _sums(splits: Sequence[Split], d: int, block: Block) -> State:
    """Return how many training rows a block has, (d,) how many hold each term, and how often."""
    rows = sp.csr_matrix(_side(splits, False, block).x)
    return {
        "rows": np.array([rows.shape[0]]),
        "texts": np.bincount(rows.indices, minlength=d),
        "totals": np.bincount(rows.indices, rows.data, d),
    }


def _sums_of_part(of_block: Any, batches: Batches) -> Batches:
    sums: State = {}
    for block in blocks_of(batches):
        sums = accumulate(sums, of_block(block))
    if sums:
        yield encoded(sums)

"""Iterative stratification (Sechidis, Tsoumakas & Vlahavas 2011, Algorithm 1), with sets and dicts.
Independent of the library.

Where the paper draws at random, `chance` (row -> whole number) decides: of the tied folds in
ascending order, the one at place chance modulo their number. Rows of a label are visited in the
order given; of labels with equally few rows the smallest is first."""

from __future__ import annotations


def iterative_stratification(labelsets, shares, chance):
    """`labelsets`: list of sets of labels, in the order of visiting. Returns the fold of each
    row."""
    rows = set(range(len(labelsets)))
    desired = {j: share * len(rows) for j, share in enumerate(shares)}
    labels = sorted(set().union(*labelsets)) if labelsets else []
    per_label = {
        (j, c): share * sum(c in s for s in labelsets)
        for j, share in enumerate(shares)
        for c in labels
    }
    fold = {}

    def give(row, fold_number):
        fold[row] = fold_number
        rows.discard(row)
        desired[fold_number] -= 1
        for c in labelsets[row]:
            per_label[fold_number, c] -= 1

    def largest(candidates, value):
        top = max(value[j] for j in candidates)
        return [j for j in candidates if value[j] > top - 1e-9]

    while True:
        left = {c: [i for i in sorted(rows) if c in labelsets[i]] for c in labels}
        left = {c: members for c, members in left.items() if members}
        if not left:
            break
        rarest = min(left, key=lambda c: (len(left[c]), c))
        for row in left[rarest]:
            tied = largest(
                range(len(shares)), {j: per_label[j, rarest] for j in range(len(shares))}
            )
            if len(tied) > 1:
                tied = largest(tied, desired)
            give(row, tied[chance[row] % len(tied)])
    for row in sorted(rows):
        tied = largest(range(len(shares)), desired)
        give(row, tied[chance[row] % len(tied)])
    return [fold[i] for i in range(len(labelsets))]

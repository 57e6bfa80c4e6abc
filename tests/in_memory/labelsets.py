"""Distinct labelsets of rows held in memory."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def labelset_codes(labels):
    """The distinct labelsets of an (n, q) 0/1 matrix: (members (m, q) CSR, code of each row, rows
    per labelset).

    Labelsets are numbered by their first row.
    """
    labels = sp.csr_matrix(labels)
    labels.eliminate_zeros()
    labels.sort_indices()
    seen, first = {}, []
    codes = np.empty(labels.shape[0], np.int64)
    for row, (a, b) in enumerate(zip(labels.indptr[:-1], labels.indptr[1:], strict=True)):
        key = labels.indices[a:b].tobytes()
        code = seen.setdefault(key, len(seen))
        if code == len(first):
            first.append(row)
        codes[row] = code
    members = sp.csr_matrix(labels[first], dtype=np.float64)
    members.data[:] = 1.0
    return members, codes, np.bincount(codes, minlength=len(first))

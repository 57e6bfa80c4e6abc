"""The kind of matrix that most functions take: dense or sparse by rows."""

from typing import Any, TypeAlias

Matrix: TypeAlias = Any  # np.ndarray | sp.csr_matrix: SciPy tells no types, so a checker would take the union for an array alone

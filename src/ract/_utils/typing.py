"""Names for what public functions take, so that a signature says more than ``Any``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from narwhals.typing import IntoDataFrame
    from numpy.typing import ArrayLike

# A table of samples: a frame of pandas, polars or pyarrow, or a two-dimensional array.
TableLike: TypeAlias = "pd.DataFrame | np.ndarray | IntoDataFrame"
# A value for each sample: targets, weights, groups.
ColumnLike: TypeAlias = "pd.Series | ArrayLike"
# A class label or a category.
Label: TypeAlias = "str | bool | int | float | np.generic"


class Classifier(Protocol):
    """A fitted model that decides: one of ours or of another library."""

    def predict(self, X: TableLike, /) -> np.ndarray:
        """Class of each sample."""

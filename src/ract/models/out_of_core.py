"""Training tables that do not fit in memory: read twice, in batches.

The first pass sketches each column, for encoding, cells and costs; the second writes everyone's
cells and reach, one to three bytes per person and feature, to a file that is mapped into memory.
Where the sketches are exact, so is all that follows. The learners see the same arrays as ever.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.utils.class_weight import compute_sample_weight

from ract._utils.errors import InvalidData, InvalidSpec, error_text, how_to_install, listing
from ract._utils.progress import track
from ract._utils.typing import ColumnLike, Label, TableLike
from ract.data.actions import ActionSpace, unrestricted
from ract.data.costs import FittedCost, fit_cost, refuse_percent, require_max_norm
from ract.data.encoder import Encoder
from ract.data.grid import Grid
from ract.data.sketch import MOST_VALUES, ColumnSketch, TableSketch
from ract.models.parameters import ClassWeight, desired_label
from ract.models.table import Prepared, Stored, TableSpec, TrainingRows, binary_classes
from ract.trees.training import TrainingSet, Weights, people_on

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

ROWS_AT_ONCE = 131_072
IN_MEMORY = 64_000_000  # bytes of cells that are not worth a file


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are what.

    Parameters
    ----------
    features : tuple of str
    target : str
    weight : str or None
    """

    features: tuple[str, ...]
    target: str
    weight: str | None

    @classmethod
    def of(
        cls,
        names: Iterable[str],
        target: ColumnLike,
        weight: ColumnLike | None,
        actions: ActionSpace | None,
    ) -> Columns:
        """Those of a table with these names; all but target and weight that are used."""
        unused = frozenset() if actions is None else actions.unused
        names = [name for name in names if name not in unused]
        for what, name in (("y", target), ("sample_weight", weight)):
            if name is None and what == "sample_weight":
                continue
            if not isinstance(name, str) or name not in names:
                shown = name if isinstance(name, str) else type(name).__name__
                raise InvalidSpec(
                    f"{what} must name a column of a table that is read in batches, got {shown!r}; "
                    f"its columns are {listing(names, 30)}."
                )
        columns = cls((), str(target), None if weight is None else str(weight))
        features = tuple(name for name in names if name not in (columns.target, columns.weight))
        if not features:
            raise InvalidData(f"The table has no column beside {target!r}.")
        return replace(columns, features=features)

    def split(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray, np.ndarray | None]:
        """Features, classes and weights of everyone with a weight."""
        weights = None
        if self.weight is not None:
            weights = frame[self.weight].to_numpy(np.float64)
            if not np.isfinite(weights).all() or (weights < 0).any():
                raise InvalidData("sample_weight must be finite and 0 or more for everyone.")
            frame, weights = frame[weights > 0], weights[weights > 0]
        y = frame[self.target].to_numpy()
        if pd.isna(y).any():
            raise InvalidData(f"The target {self.target!r} is missing for some people.")
        return frame[list(self.features)], y, weights

    def sketch(self, frame: pd.DataFrame, most: int) -> TableSketch:
        """What is kept of a batch in the first pass; classes count whatever the weight."""
        X, _, weights = self.split(frame)
        found, counts = np.unique(frame[self.target].to_numpy(), return_counts=True)
        classes = dict(zip(found.tolist(), counts.tolist(), strict=True))
        if not len(X):
            return TableSketch({name: ColumnSketch() for name in self.features}, 0, classes, most)
        return TableSketch.of(X, weights, classes, most)


@dataclass(frozen=True)
class StoredTable:
    """What the first pass found out, and the second does with every batch.

    Parameters
    ----------
    spec : TableSpec
    columns : Columns
    encoder : Encoder
    grid : Grid
    cost : FittedCost
    classes : array of two labels
    desired : label
    factors : dict
        By class: its weight.
    n_people : int
    error : float
        By what share of people a threshold's rank may be off.
    """

    spec: TableSpec
    columns: Columns
    encoder: Encoder
    grid: Grid
    cost: FittedCost
    classes: np.ndarray
    desired: Label
    factors: dict[Label, float]
    n_people: int
    error: float

    @classmethod
    def of(cls, spec: TableSpec, columns: Columns, sketch: TableSketch) -> StoredTable:
        """Encoding, bins and costs from what the first pass kept of a table."""
        table = sketch.table()
        table.refuse_empty_columns()
        labels = list(sketch.classes)
        texts = any(isinstance(label, str) for label in labels)  # objects, as in a frame
        classes = binary_classes(np.array(labels, dtype=object if texts else None))
        actions = unrestricted(table) if spec.actions is None else spec.actions
        encoder = Encoder.of_space(actions.complete(table), columns.features)
        known: Any = sketch.distributions(encoder)  # which take the place of columns
        grid = Grid.from_columns(encoder.axes, known, spec.max_bins)
        missing = encoder.missing_cells
        cost = fit_cost(spec.cost, known, encoder.weights, missing=missing)
        require_max_norm(cost)
        refuse_percent(cost, spec.budget)
        desired = desired_label(spec.desired, spec.actions, classes)
        factors = _factors(spec.class_weight, classes, sketch.classes)
        n, error = sketch.n_people, sketch.error
        return cls(spec, columns, encoder, grid, cost, classes, desired, factors, n, error)

    def training(self, frame: pd.DataFrame) -> TrainingSet | None:
        """A batch, ready for growing; None if nobody in it has a weight."""
        X, y, sample = self.columns.split(frame)
        return self._training(X, y == self.desired, self._weights(y, sample)) if len(X) else None

    def training_on(self, rows: TrainingRows) -> TrainingSet:
        """Rows in memory, ready for growing."""
        return self._training(rows.X, rows.desired, rows.weights)

    def _training(self, X: TableLike, desired: np.ndarray, weights: Weights) -> TrainingSet:
        """Rows on the grid of the whole table."""
        columns, labels, spec = self.encoder.encode(X), desired.astype(np.uint8), self.spec
        budget, with_reach = spec.budget, spec.with_reach
        people = people_on(self.grid, self.cost, columns, labels, budget, with_reach=with_reach)
        return TrainingSet(self.encoder, self.grid, self.cost, people, weights, None)

    def in_memory(self, frame: pd.DataFrame, first: int = 0) -> TrainingRows:
        """Rows of a batch, whose first person has so many before them, that stay in memory."""
        X, y, sample = self.columns.split(frame)
        n_kept = min(self.spec.n_rows_kept, self.n_people)
        rows = np.flatnonzero(
            np.diff(np.arange(first, first + len(y) + 1) * n_kept // self.n_people)
        )
        weights = self._weights(y, sample).of(rows)
        return TrainingRows(X.iloc[rows], rows, y[rows] == self.desired, weights, len(y))

    def _weights(self, y: np.ndarray, sample: np.ndarray | None) -> Weights:
        growing = _even(len(y)) if sample is None else sample
        if self.factors:
            growing = growing * pd.Series(y).map(self.factors).to_numpy(np.float64)
        return Weights(sample, growing)

    def prepared(self, training: TrainingSet, in_memory: TrainingRows) -> Prepared:
        """The whole table, ready for a learner."""
        names, n = np.array(self.columns.features, dtype=object), self.n_people
        state = (self.spec, self.classes, self.desired, names)
        return Prepared(*state, training, in_memory, range(n), n, self.error)

    def joined(
        self, parts: Iterable[TrainingSet | None], n_people: int | None = None
    ) -> TrainingSet:
        """Batches of so many people, one after the other, in files if they are large."""
        filled: Iterable[TrainingSet] = (part for part in parts if part is not None)
        if n_people is None:
            filled = list(filled)
            n_people = sum(len(part.weights.growing) for part in filled)
        whole: TrainingSet | None = None
        first = 0
        for part in filled:
            whole = whole or _empty_like(part, n_people)
            last = first + len(part.weights.growing)
            if last > n_people:
                break
            for values, joined in zip(_arrays(part, whole), _arrays(whole), strict=True):
                joined[..., first:last] = values
            first = last
        if whole is None or first != n_people:
            raise InvalidData("The table has changed between the first reading and the second.")
        return whole


def divided(
    training: TrainingSet | None, n_parts: int, seed: int | Sequence[int]
) -> list[TrainingSet | None]:
    """The people of a batch, each in one of so many parts by the draw of a seed."""
    if training is None:
        return [None] * n_parts
    n_people = len(training.weights.growing)
    drawn = np.random.default_rng(seed).integers(n_parts, size=n_people)
    parts: list[TrainingSet | None] = []
    for k in range(n_parts):
        rows = np.flatnonzero(drawn == k)
        part = _empty_like(training, len(rows))
        for values, taken in zip(_arrays(training, part), _arrays(part), strict=True):
            taken[...] = values[..., rows]
        parts.append(part if len(rows) else None)
    return parts


def _arrays(training: TrainingSet, into: TrainingSet | None = None) -> Iterator[np.ndarray]:
    """Everything that has a value for each person, each array once, as far as another holds it."""
    people, weights = training.people, training.weights
    yield people.cells
    if people.lowest is not people.cells:
        yield from (people.lowest, people.highest)
    yield people.desired
    if not _is_even((into or training).weights.growing):
        yield weights.growing
    if weights.sample is not None and weights.sample is not weights.growing:
        yield weights.sample


def _even(n_people: int) -> np.ndarray:
    """A weight of one for each person, which takes no memory and cannot be written to."""
    return np.broadcast_to(1.0, n_people)


def _is_even(growing: np.ndarray) -> bool:
    return growing.strides == (0,)


def _empty_like(part: TrainingSet, n_people: int) -> TrainingSet:
    people, shape = part.people, (len(part.people.cells), n_people)
    cells = lowest = highest = _mapped(shape, people.cells.dtype)
    if people.lowest is not people.cells:
        lowest, highest = (_mapped(shape, people.cells.dtype) for _ in range(2))
    growing = _even(n_people) if _is_even(part.weights.growing) else np.empty(n_people)
    sample = None
    if part.weights.sample is not None:
        same = part.weights.sample is part.weights.growing
        sample = growing if same else np.empty(n_people)
    desired = np.empty(n_people, np.uint8)
    empty = replace(people, cells=cells, lowest=lowest, highest=highest, desired=desired)
    return replace(part, people=empty, weights=Weights(sample, growing))


def _mapped(shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    """An array, in a file without a name if it is large."""
    if shape[0] * shape[1] * dtype.itemsize <= IN_MEMORY:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile() as file:
        return np.asarray(np.memmap(file, dtype, "w+", shape=shape))


def stored_batches(source: Stored, columns: Columns | None = None) -> Iterator[pd.DataFrame]:
    """A Parquet file, folder or data set in batches of rows, in its order."""
    names = None
    if columns is not None:
        names = [*columns.features, columns.target]
        names += [] if columns.weight is None else [columns.weight]
    dataset = open_dataset(source)
    how = {"schema": dataset.schema, "columns": names, "batch_size": ROWS_AT_ONCE}
    # One group of rows after the other: a scan of the whole reads ahead by gigabytes.
    for fragment in dataset.get_fragments():
        groups = fragment.split_by_row_group() if hasattr(fragment, "row_groups") else [fragment]
        for group in groups:
            for batch in group.to_batches(**how, batch_readahead=0):
                if batch.num_rows:
                    yield batch.to_pandas()


def open_dataset(source: Stored) -> Dataset:
    """A pyarrow data set; a path is that of a Parquet file or of a folder of them."""
    if not isinstance(source, (str, Path)):
        return source
    try:
        import pyarrow.dataset as ds
        from pyarrow import ArrowException
    except ImportError:
        raise InvalidSpec(f"Parquet files need pyarrow: {how_to_install('parquet')}.") from None
    if not Path(source).exists():
        raise InvalidData(f"There is no file or folder {source}.")
    try:
        return ds.dataset(source, format="parquet", partitioning="hive")
    except (ArrowException, ValueError) as error:
        raise InvalidData(f"{source} cannot be read as Parquet: {error_text(error)}.") from None


def _tracked(source: Stored, columns: Columns, what: str, *, show: bool) -> Iterator[pd.DataFrame]:
    """Batches, with a bar that tells how many people were read."""
    n_rows = open_dataset(source).count_rows()
    return track(stored_batches(source, columns), n_rows, what, size=len, show=show)


def sketch_stored(
    source: Stored, columns: Columns, max_bins: int, *, show: bool = False
) -> TableSketch:
    """The first pass over stored people."""
    most = max(MOST_VALUES, 2 * max_bins)
    whole: TableSketch | None = None
    for batch in _tracked(source, columns, "Reading values", show=show):
        part = columns.sketch(batch, most)
        if whole is None:
            whole = part
        else:
            whole += part  # in place: a sum of two would copy the sketch for every batch
    if whole is None or not whole.n_people:
        raise InvalidData(f"{source} has no rows with a weight.")
    return whole


def read_stored(
    spec: TableSpec, source: Stored, target: ColumnLike, weight: ColumnLike | None
) -> Prepared:
    """Read, encode, bin and price stored people, in two passes."""
    columns = Columns.of(open_dataset(source).schema.names, target, weight, spec.actions)
    sketch = sketch_stored(source, columns, spec.max_bins, show=spec.show)
    reading = StoredTable.of(spec, columns, sketch)
    in_memory: list[TrainingRows] = []

    def parts() -> Iterator[TrainingSet | None]:
        first = 0
        for batch in _tracked(source, columns, "Reading people", show=spec.show):
            in_memory.append(reading.in_memory(batch, first))
            first += in_memory[-1].n_all
            yield reading.training(batch)

    training = reading.joined(parts(), reading.n_people)
    import pyarrow

    pyarrow.default_memory_pool().release_unused()  # of batches that were read
    return reading.prepared(training, TrainingRows.joined(in_memory))


def _factors(
    class_weight: ClassWeight, classes: np.ndarray, counts: dict[Label, int]
) -> dict[Label, float]:
    """The weight of each class; empty if they weigh alike."""
    if class_weight is None:
        return {}
    if isinstance(class_weight, str) and class_weight == "balanced":
        n_all = sum(counts.values())
        return {label: n_all / (2 * n) for label, n in counts.items()}
    weights = compute_sample_weight(class_weight, classes)
    return dict(zip(classes.tolist(), weights.tolist(), strict=True))

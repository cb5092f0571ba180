"""Tables as people have them: how they are written, and what their columns are read as."""

from ract.data.csv.describe import Description, describe_file, writing_of
from ract.data.csv.dialect import Since, TableFormat
from ract.data.csv.files import Chunks, is_parquet, name_of, naming_lines, place_of, read_whole
from ract.data.csv.read import as_read, date_columns, refuse_formatted_numbers, text_features

__all__ = [
    "Chunks", "Description", "Since", "TableFormat", "as_read", "date_columns", "describe_file",
    "is_parquet", "name_of", "naming_lines", "place_of", "read_whole", "refuse_formatted_numbers",
    "text_features", "writing_of",
]  # fmt: skip

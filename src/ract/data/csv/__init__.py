"""Tables as people have them: how they are written, and what their columns are read as."""

from ract.data.csv.describe import Description, describe_file
from ract.data.csv.dialect import Since, TableFormat
from ract.data.csv.read import as_read

__all__ = ["Description", "Since", "TableFormat", "as_read", "describe_file"]

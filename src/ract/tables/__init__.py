"""Tables as people have them: how they are written, and what their columns are read as."""

from ract.tables.format import Since, TableFormat
from ract.tables.read import as_read

__all__ = ["Since", "TableFormat", "as_read"]

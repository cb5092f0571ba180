"""Action files: an action space, and how the tables that it is about are written."""

from __future__ import annotations

from pathlib import Path

from ract._utils.toml import parsed_toml, read_toml
from ract.data.actions.space import ActionSpace
from ract.data.csv.dialect import TableFormat


def read_action_file(source: str | Path) -> tuple[ActionSpace, TableFormat]:
    """Both parts of an action file, which is parsed once."""

    def read(text: str) -> tuple[ActionSpace, TableFormat]:
        document = parsed_toml(text)
        space = ActionSpace.from_document(document)
        return space, TableFormat.of_record(document.get("table", {}))

    return read_toml(source, read)

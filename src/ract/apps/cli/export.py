"""``ract export``: a model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ract._utils.files import write_whole
from ract.apps.cli.inputs import open_model
from ract.apps.cli.messages import BadInput, say

ENDS = (".onnx", ".json", ".joblib")


def export(model: Path, output: Path) -> None:
    """Write a model for other programs.

    As ONNX, as JSON, or as a scikit-learn estimator (joblib), by the end of the file's name.

    Example: ract export model.ract -o model.onnx
    """
    end = output.suffix.lower()
    if end not in ENDS:
        raise BadInput(f"{output} must end in one of {', '.join(ENDS)}.")
    write_whole(output, _content(open_model(model).model, end))
    say(f"The model is in {output}.")


def _content(model: Any, end: str) -> bytes:
    if end == ".onnx":
        from ract.io.export import to_onnx

        return bytes(to_onnx(model).SerializeToString())
    if end == ".json":
        import json

        from ract.io.export import to_json

        return json.dumps(to_json(model), allow_nan=False).encode()
    import io

    import joblib

    from ract.io.export import to_sklearn

    out = io.BytesIO()
    joblib.dump(to_sklearn(model), out)
    return out.getvalue()

"""Write ``api.md`` from what the sub-packages list as public: ``python docs/write_api.py``."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

PACKAGES = (
    "ract", "ract.data", "ract.trees", "ract.recourse", "ract.models", "ract.evaluation", "ract.io",
    "ract.notices", "ract.apps.ledger", "ract.apps.distributed", "ract.apps.web",
)  # fmt: skip
INTRODUCTION = """\
# API reference

Everything that is listed here is public; everything else may change without notice. Import a name
from the package under whose heading it is listed. The names of the first list are for everyday use;
they can be imported from `ract` and from their own packages. [Concepts](concepts.md) explains the
words.

This page is written by `python docs/write_api.py` from the lists in the packages themselves.
"""
# What scikit-learn adds to every estimator says nothing about ours.
ESTIMATOR_OPTIONS = """\
   :inherited-members: BaseEstimator, ClassifierMixin
   :exclude-members: feature_importances_, get_metadata_routing, set_fit_request, \
set_predict_request, set_score_request
"""


def api_page() -> str:
    """The page as Markdown."""
    everyday = set(import_module("ract").__all__)
    parts = [INTRODUCTION]
    for package in PACKAGES:
        module = import_module(package)
        title = (inspect.getdoc(module) or "").split("\n")[0]
        names = [name for name in module.__all__ if name != "__version__"]
        parts.append(f"## {package}\n\n{title}\n")
        if package == "ract":
            parts.append("\n".join(f"- `{name}`" for name in names) + "\n")
            continue
        entries = "".join(_entry(package, module, name, name in everyday) for name in names)
        parts.append(f"```{{eval-rst}}\n{entries}```\n")
    errors = [name for name in sorted(everyday) if name.startswith("Invalid")]
    entries = "".join(f".. autoexception:: ract.{name}\n" for name in errors)
    parts.append(f"## Errors\n\n```{{eval-rst}}\n{entries}```\n")
    return "\n".join(parts)


def _entry(package: str, module: ModuleType, name: str, everyday: bool) -> str:
    value = getattr(module, name)
    where = f"ract.{name}" if everyday else f"{package}.{name}"
    if isinstance(value, ModuleType):
        functions = [f for f in value.__all__ if callable(getattr(value, f))]
        return "".join(f".. autofunction:: {package}.{name}.{f}\n" for f in functions)
    if not inspect.isclass(value):
        return f".. autofunction:: {where}\n"
    if issubclass(value, BaseException):
        return f".. autoexception:: {where}\n"
    estimator = hasattr(value, "fit") and hasattr(value, "get_params")
    return f".. autoclass:: {where}\n" + (ESTIMATOR_OPTIONS if estimator else "")


if __name__ == "__main__":
    Path(__file__).with_name("api.md").write_text(api_page(), encoding="utf-8")

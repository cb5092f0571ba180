"""How Sphinx builds these pages. Nothing is fetched: the build works without a network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import tests.compiled  # noqa: F401 - notebooks run what the tests have compiled, or the other way
from ract import __version__

project = "ract"
author = "The ract developers"
copyright = author
release = __version__
version = ".".join(release.split(".")[:2])

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]

autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "show-inheritance": True,
}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_mock_imports = ["dask", "distributed", "pyspark"]  # engines are not needed to describe them
napoleon_google_docstring = False
napoleon_use_rtype = False

# The gallery and the notebooks are run by every build; what fails there fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_render_image_options = {"width": "100%"}
nb_output_stderr = "remove"

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"ract {release}"
html_static_path = ["style"]
html_css_files = ["pages.css"]

# Shapes such as (people, columns) in docstrings are no references.
suppress_warnings = ["ref.python"]

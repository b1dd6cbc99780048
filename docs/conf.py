"""How Sphinx makes the site of these pages: `make docs`. It reads no address and executes no notebook."""

from __future__ import annotations

import sys
from pathlib import Path

import nsl_bench

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "nsl-bench"
author = "The nsl-bench authors"
version = release = nsl_bench.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_nb", "sphinx_copybutton", "live_pages"]
exclude_patterns = ["_ext"]
html_theme = "furo"
html_title = "nsl-bench"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
pygments_dark_style = "github-dark"  # the default underlines module names like links

default_role = "py:obj"  # docstrings write `evaluate` for a name
add_module_names = False
python_maximum_signature_line_length = 80
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_attr_annotations = False  # signatures have the types

myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
nb_execution_mode = "off"  # tests/test_docs_site.py executes the notebooks
nb_merge_streams = True

copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"
copybutton_exclude = ".linenos, .go"

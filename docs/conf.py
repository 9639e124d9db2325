"""How Sphinx builds the site: ``python -m sphinx -W --keep-going docs site``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "generate"))
import pages

import atoll

pages.write()

project = "atoll"
author = "The atoll developers"
release = version = atoll.__version__
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design"]
exclude_patterns = ["generate"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
html_theme = "pydata_sphinx_theme"
html_title = "atoll"
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "atoll"},
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}

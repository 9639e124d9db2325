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
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["generate"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist", "attrs_block"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
copybutton_prompt_text = ">>> |$ "
html_theme = "pydata_sphinx_theme"
html_title = "atoll"
html_static_path = ["_static"]
html_css_files = ["atoll.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "atoll", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "start/index": []}

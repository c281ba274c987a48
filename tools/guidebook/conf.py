# SPDX-License-Identifier: Apache-2.0
"""What Sphinx needs to know of the guide."""

project = 'swift-lightsync'
extensions = ['myst_parser']
root_doc = 'index'
html_theme = 'alabaster'
html_theme_options = {'page_width': '1100px', 'fixed_sidebar': True}
html_copy_source = False
#: Links name headings as GitHub does.
myst_heading_anchors = 4

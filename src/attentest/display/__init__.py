"""Tables and heat maps for notebook, terminal, HTML and SVG."""

"""In the browser: a model's attention to explore, and people to ask. Needs the extra `web`."""

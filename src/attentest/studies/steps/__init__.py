"""What the steps of a study do: each `run` is a pure function of settings and inputs that fills a folder."""

"""Error rates of tests and verdicts, measured on models whose truth is known."""

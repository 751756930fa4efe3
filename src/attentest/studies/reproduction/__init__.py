"""The papers' published figures and ours, kept as small tables: what was run, what is stale, what it says."""

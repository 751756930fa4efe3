"""How often each kind of interval covers the truth."""

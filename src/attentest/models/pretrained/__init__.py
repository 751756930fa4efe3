"""Networks from the transformers library: sites, interventions, and which weights explain."""

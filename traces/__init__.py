"""What a run leaves behind and what can be read from it: captures, samples, metrics, figures."""

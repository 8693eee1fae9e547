"""Open Traffic Generator server: configurations of `snappi` become frames of the data path."""

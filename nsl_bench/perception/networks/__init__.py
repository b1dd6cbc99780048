"""The first-party perception networks and the modules that they are made of."""

"""The Python interface: what `nsl_bench` offers by name, and what every command line calls."""

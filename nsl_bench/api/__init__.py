"""The Python interface behind `nsl_bench` and every command."""

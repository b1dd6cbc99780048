"""What all rooms speak of: tasks, shifts, sources, examples, metrics, options, registry, cache, errors.

Imports none of the other rooms. Begin with `types` (the dataclasses that an example is handed on in) and
`benchmark` (what a task says of itself).
"""

"""Call functions in a separate process: parsing, grounding and solving of untrusted rules and tasks.

`call.guarded` calls a function in a child process with limits on wall time and memory. `rules` and `learning`
call functions of the layers below on rules and learning tasks in this way.
"""

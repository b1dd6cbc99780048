"""Functions called in a process that may die: grounding, parsing and solving of texts that anybody wrote.

`call.guarded` calls a function in a child process, held to a wall time and to memory. `rules` and `learning`
ask what the layers below answer about rules and learning tasks in that way. The messages (`wire`), what a
process prints (`output`) and how much memory it holds (`memory`) serve `nsl_bench.isolation`, too.
"""

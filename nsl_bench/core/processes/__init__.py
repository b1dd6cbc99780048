"""Child processes, from both sides: messages, output, memory, and the one loop that waits for all of them.

Guarded evaluation (`nsl_bench.logic.guarded`) and the sandbox (`nsl_bench.sandbox`) start and end processes
in their own ways and use these modules for everything between. Begin with `child`.
"""

"""The sandbox: learners in separate processes, with limited resources and access; and seals of what they saw.

Imports `core`, `data`, `logic` and `learners`. Begin with `host` (a learner in another process), which is
forked from `fork_server`, restricted by `sandbox`, and gets only the data that its view allows (`views`).
"""

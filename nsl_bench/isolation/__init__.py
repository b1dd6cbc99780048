"""The sandbox: learners in separate processes, with limited resources and access.

`host.IsolatedLearner` represents a learner in another process. The process is forked from a fork server
(`fork_server`), restricted (`sandbox`), and gets only the data that its view allows (`wire`, `child`).
"""

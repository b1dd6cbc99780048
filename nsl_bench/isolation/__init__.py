"""Learners in processes of their own: what they may use, what they may see, and what becomes of them.

`host.IsolatedLearner` stands for a learner that lives in another process. That process is forked from a
fork server (`fork_server`), shut in (`sandbox`), and told only what its view allows (`wire`, `child`).
"""

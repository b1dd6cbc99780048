"""Methods of single papers, a room for each: `nsl`, `ntoc`, `neuid3`.

They import the rest of `nsl_bench.learners`, which imports none of them. Begin with a room's `learner`.
"""

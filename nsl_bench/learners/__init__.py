"""Learners: what a learner is, what it is handed, FFNSL and the baselines."""

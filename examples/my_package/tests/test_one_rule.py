"""The tests that every learner passes; run them with `pytest examples/my_package`."""

from nsl_bench.testing import LearnerTests


class TestOneRule(LearnerTests):
    spec = "one_rule:least=3"
    least = 0.4

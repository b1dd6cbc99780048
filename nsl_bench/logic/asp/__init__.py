"""Answer set programs: text, rules, dependencies, renaming and grounding, for rule learner and inference."""

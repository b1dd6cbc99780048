"""Rule learners in other people's programs."""

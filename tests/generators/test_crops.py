from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from nsl_bench.generators.sources.leaves.drawn import DrawnLeaves
from nsl_bench.generators.sources.leaves.names import BACKGROUND, CROPS

from nsl_bench.core.errors import UserError
from nsl_bench.core.types import ConceptSpace, PoolPart
from nsl_bench.testing import SourceTests


class TestDrawnLeaves(SourceTests):
    total: ClassVar[dict[PoolPart, int]] = {"network": 7 * 39, "a": 2 * 39, "b": 39}

    @classmethod
    def make(cls) -> DrawnLeaves:
        return DrawnLeaves(images_per_concept=10, image_size=48)

    def test_a_smaller_task_sees_the_same_leaves(self) -> None:
        few = DrawnLeaves(ConceptSpace("crop", (CROPS[30], BACKGROUND)), 10, 48)
        assert np.array_equal(few.render("a", np.array([0])), self.make().render("a", np.array([30])))


def test_a_concept_that_is_no_crop() -> None:
    with pytest.raises(UserError, match="has no images of 'as'"):
        DrawnLeaves(concept_space=ConceptSpace("card", ("as",)))

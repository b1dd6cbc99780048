from __future__ import annotations

from typing import ClassVar

import numpy as np
from nsl_bench.generators.sources.rooms.drawn import DrawnRooms
from nsl_bench.generators.sources.rooms.furnishing import COLOURS, ROOMS, SEGMENTS, THINGS
from nsl_bench.generators.sources.rooms.names import SCENES

from nsl_bench.core.types import PoolPart
from nsl_bench.testing import SourceTests


class TestDrawnRooms(SourceTests):
    total: ClassVar[dict[PoolPart, int]] = {"network": 7 * 67, "a": 2 * 67, "b": 67}

    @classmethod
    def make(cls) -> DrawnRooms:
        return DrawnRooms(images_per_concept=10, image_size=48)


def test_rooms_hold_what_their_scene_has() -> None:
    source = DrawnRooms(images_per_concept=10)
    maps = source.segmentation("network", np.arange(67))
    for scene, found in zip(SCENES, maps, strict=True):
        allowed = {name for name, _, _ in ROOMS[scene].things}
        shown = {SEGMENTS[k] for k in np.unique(found)}
        assert {"wall", "floor"} <= shown <= {"wall", "floor", "ceiling"} | allowed
        assert shown & allowed


def test_a_map_is_of_its_picture() -> None:
    """Where the map shows two things, the picture has an edge more often than elsewhere."""
    source, rows = DrawnRooms(images_per_concept=10), np.arange(0, 67, 5)
    images = source.render("network", rows).astype(int).sum(axis=3)
    maps = source.segmentation("network", rows)
    steps = abs(np.diff(images, axis=2))
    border = maps[:, :, 1:] != maps[:, :, :-1]
    assert steps[border].mean() > 3 * steps[~border].mean()


def test_every_scene_differs_in_what_it_always_has() -> None:
    certain = {
        scene: tuple(sorted(n for n, least, _ in room.things if least)) for scene, room in ROOMS.items()
    }
    assert len(set(certain.values())) == 67


def test_things_are_well_made() -> None:
    for name, thing in THINGS.items():
        assert set(thing.colours) <= set(COLOURS), name
        assert {colour for _, colour in thing.parts} <= {*COLOURS, "main", "dark", "light"}, name
        corners = np.array([corner for outline, _ in thing.parts for corner in outline])
        assert corners.min() > -0.4 and corners.max() < 1.1, name
    assert {name for room in ROOMS.values() for name, _, _ in room.things} <= set(THINGS)

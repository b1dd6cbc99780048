"""Crop Yield and Indoor Scene as the paper describes them."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from nsl_bench.generators.sources.leaves.drawn import DrawnLeaves
from nsl_bench.generators.sources.leaves.names import (
    BACKGROUND,
    CROPS,
    DISEASE_OF,
    DISEASES,
    SPECIES,
    SPECIES_OF,
)
from nsl_bench.generators.sources.rooms.drawn import DrawnRooms
from nsl_bench.generators.sources.rooms.furnishing import COLOURS, ROOMS, SEGMENTS, THINGS
from nsl_bench.generators.sources.rooms.names import SCENES, SUPER_CLASS_OF, SUPER_CLASSES
from nsl_bench.generators.tasks.crop_yield import CropYield
from nsl_bench.generators.tasks.indoor_scene import IndoorScene

from nsl_bench.cli import main
from nsl_bench.core import registry
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import resolve
from nsl_bench.core.types import ConceptSpace, PoolPart, Predictions
from nsl_bench.data.splits import make_source, symbolic_split, task_of_split
from nsl_bench.learners.d2k import weighted_examples
from nsl_bench.learners.view import View
from nsl_bench.logic.inference.crisp import crisp_labels
from nsl_bench.logic.las import LasTask
from nsl_bench.logic.las.semantics.equivalence import equivalent
from nsl_bench.logic.las.solver import solve
from nsl_bench.perception.trained_networks import accuracy, trained
from nsl_bench.run.store import Store
from nsl_bench.testing import SourceTests


def test_the_crops_are_plantvillages() -> None:
    assert len(CROPS) == len(set(CROPS)) == 38 and len(SPECIES) == 14 and "healthy" in DISEASES
    assert len({(SPECIES_OF[c], DISEASE_OF[c]) for c in CROPS}) == 38
    assert len(CropYield().concept_space) == 39


@given(st.integers(0, 10_000), st.integers(0, 2**32))
@settings(max_examples=30)
def test_every_field_obeys_the_task(world: int, seed: int) -> None:
    task = CropYield(world=world)
    split = task.generate("train", "small", 1, np.random.default_rng(seed))
    assert len(split) == task.sizes["small"]
    crops, labels = defaultdict(set), defaultdict(set)
    for example in split:
        place, (crop,) = example.metadata["location"], example.concepts
        assert crop != BACKGROUND and 1 <= place <= 19
        crops[place].add(crop)
        labels[place, crop].add(example.label)
    assert all(len(found) <= 2 for found in crops.values())
    assert all(len(found) == 1 for found in labels.values())


def test_the_order_of_species_does_not_matter() -> None:
    one, other = (CropYield(species) for species in ("potato+pepper", "pepper+potato+potato"))
    assert one.name == other.name and one.true_rule == other.true_rule


@pytest.mark.parametrize("world", range(1, 6))
def test_two_crops_of_two_species_grow_in_each_location(world: int) -> None:
    task = CropYield(world=world)
    assert Counter(task.places.tolist()) == dict.fromkeys(range(1, 20), 2)
    fields = {(place, SPECIES_OF[c]) for place, c in zip(task.places.tolist(), CROPS, strict=True)}
    assert len(fields) == 38
    assert min(np.bincount(task.yields, minlength=3)) >= 6


def test_each_train_set_has_a_world_and_a_test_set_of_its_own() -> None:
    task = registry.create("benchmark", "crop_yield")
    worlds = [task_of_split(task, k) for k in (1, 2)]
    assert [world.name for world in worlds] == ["crop_yield:world=0", "crop_yield:world=1"]
    assert len({world.true_rule for world in worlds}) == 2
    for k, world in enumerate(worlds, 1):
        test = symbolic_split(task, "test", repeat=k)
        contexts = world.contexts(test.concepts[:50], {n: c[:50] for n, c in test.metadata.items()})
        labels = crisp_labels([world.true_rule], world.background, contexts, world.labels)
        assert np.array_equal(labels, test.labels[:50])
    alone = registry.create("benchmark", "crop_yield:world=1")
    assert alone.for_split(5) is alone and alone.true_rule == worlds[1].true_rule
    assert not alone.own_tests and task.test_number(3) == 3 and alone.test_number(3) == 1


def test_worlds_of_a_secret_seed_are_secret() -> None:
    task = registry.create("benchmark", "crop_yield")
    rules = {task_of_split(task, 1, seed).true_rule for seed in (0, 7, "secret", "other")}
    assert len(rules) == 3 and task_of_split(task, 1, "secret").name == "crop_yield:world=0"


def test_fields_that_only_test_sets_show() -> None:
    task = registry.create("benchmark", "crop_yield:unseen=0.25")
    train, validation, test = (
        set(symbolic_split(task, part).concepts[:, 0].tolist())  # type: ignore[arg-type]
        for part in ("train", "validation", "test")
    )
    assert not (train | validation) & test and len(test) == 10 and len(train) <= 28


@pytest.mark.parametrize("locations", [1, 7, 38])
def test_crops_are_spread_over_as_many_locations_as_told(locations: int) -> None:
    task = registry.create("benchmark", f"crop_yield:locations={locations}")
    crops = np.bincount(task.places)[1:]
    assert len(crops) == locations and crops.max() - crops.min() <= 1
    assert task.metadata == {"location": f"1..{locations}"}


def test_worlds_differ_and_stay() -> None:
    assert np.array_equal(CropYield(world=2).yields, CropYield(world=2).yields)
    assert not np.array_equal(CropYield(world=2).places, CropYield(world=3).places)


def test_facts_of_a_crop() -> None:
    task = CropYield()
    facts = task.context(np.array([CROPS.index("Peach___Bacterial_spot")]), {"location": 5})
    assert facts == ("species(peach)", "disease(bacterial_spot)", "location(5)")
    assert task.context(np.array([38]), {"location": 5}) == ("location(5)",)
    assert task.labels.inclusions(0) == ("yield(0)",)
    assert task.labels.exclusions(0) == ("yield(1)", "yield(2)")


def test_a_background_makes_no_example() -> None:
    task = CropYield()
    split = symbolic_split(task, "train")
    seen = split.concepts.copy()
    seen[:5] = 38
    view = View(split, task, "pretrained", predictions=Predictions.certain(seen, 39))
    assert len(weighted_examples(view)) == len(split) - 5
    assert not view.features[:5, :35].any()


def test_the_scenes_are_mit_indoor_67s() -> None:
    assert len(SCENES) == 67 and tuple(sorted(SCENES)) == SCENES
    sizes = Counter(SUPER_CLASS_OF.values())
    assert [sizes[name] for name in SUPER_CLASSES] == [12, 14, 15, 11, 15]
    # The rules that the paper prints (appendix B.4).
    printed = {
        "meeting_room": 4,
        "inside_subway": 2,
        "elevator": 2,
        "bowling": 3,
        "shoeshop": 0,
        "classroom": 4,
    }
    assert all(SUPER_CLASSES.index(SUPER_CLASS_OF[scene]) == label for scene, label in printed.items())


@given(st.integers(0, 2**32))
@settings(max_examples=10)
def test_every_room_obeys_the_task(seed: int) -> None:
    task = IndoorScene()
    split = task.generate("train", "small", 1, np.random.default_rng(seed))
    assert set(np.bincount(split.concepts[:, 0]).tolist()) == {20}
    for example in split:
        (scene,) = example.concepts
        assert task.labels.names[example.label] == SUPER_CLASS_OF[scene]


@pytest.mark.parametrize(("name", "rules"), [("crop_yield", None), ("indoor_scene", 67)])
def test_the_task_is_learned(name: str, rules: int | None) -> None:
    task = registry.create("benchmark", name)
    split = symbolic_split(task, "train")
    view = View(
        split, task, "symbolic", predictions=Predictions.certain(split.concepts, len(task.concept_space))
    )
    solution = solve(LasTask.build(weighted_examples(view), task.background, task.bias, name))
    assert solution.status == "optimal"
    if rules is not None:
        assert len(solution.hypothesis) == rules
        atoms = tuple(atom for atom in task.labels.atoms if atom)
        assert equivalent(solution.hypothesis, (task.true_rule,), inputs=task.inputs, atoms=atoms) is None


@pytest.mark.parametrize(("name", "shift"), [("crop_yield", "hue"), ("indoor_scene", "blur_hue_rotate")])
def test_the_shipped_network_sees_standard_images_only(name: str, shift: str) -> None:
    task = registry.create("benchmark", name)
    source = make_source(task)
    network = trained("softmax", task, source)
    assert accuracy(network, source, limit=200) > 0.9
    assert accuracy(network, source, resolve(shift, task, source), limit=200) < 0.35


def test_the_task_runs_out_of_the_box(tmp_path: Path) -> None:
    words = ["run", "crop_yield", "--learner", "ffnsl", "--repeats", "1", "--jobs", "1"]
    words += ["--out", str(tmp_path)]
    assert CliRunner().invoke(main, words, catch_exceptions=False).exit_code == 0
    runs = Store(tmp_path).frame()
    assert runs["status"].tolist() == ["ok"]
    assert runs["hypothesis_accuracy"].item() >= 0.95


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ("crop_yield:species=tomatoe", "Unknown species 'tomatoe'. Did you mean 'tomato'?"),
        ("crop_yield:locations=39", "locations must be between 1 and 38; got 39"),
        ("crop_yield:species=orange", "must include at least two crops"),
        ("indoor_scene:scenes=bar", "must name at least two scenes"),
        ("indoor_scene:scenes=bar+barn", "Unknown scene 'barn'"),
    ],
)
def test_options_that_do_not_fit(spec: str, what: str) -> None:
    with pytest.raises(UserError) as error:
        registry.create("benchmark", spec)
    assert what in str(error.value)


# -- the drawn leaves and rooms


class TestDrawnLeaves(SourceTests):
    total: ClassVar[dict[PoolPart, int]] = {"network": 7 * 39, "a": 2 * 39, "b": 39}

    @classmethod
    def make(cls) -> DrawnLeaves:
        return DrawnLeaves(images_per_concept=10, image_size=48)

    def test_a_smaller_task_sees_the_same_leaves(self) -> None:
        few = DrawnLeaves(ConceptSpace("crop", (CROPS[30], BACKGROUND)), 10, 48)
        assert np.array_equal(few.render("a", np.array([0])), self.make().render("a", np.array([30])))


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

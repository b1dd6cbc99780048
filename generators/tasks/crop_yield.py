"""Crop Yield Prediction: a field's yield, from a leaf's image and the field's location.

FFNSL paper (Cunnington et al. 2023), sections 4.3 and 8, appendices B.3 and F.3. The paper's symbolic data
are not public, so a seeded, hidden table replaces them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from nsl_bench.core.benchmark import Benchmark
from nsl_bench.core.errors import UserError, unknown
from nsl_bench.core.options import option
from nsl_bench.core.seeding import generator
from nsl_bench.core.types import (
    BLANK,
    Array,
    Bools,
    ConceptSpace,
    Floats32,
    Ints,
    Ints16,
    LabelSpace,
    Part,
    Split,
)

from ..sources.leaves.names import BACKGROUND, CROP_SPACE, CROPS, DISEASE_OF, DISEASES, SPECIES, SPECIES_OF
from . import programs

_PROGRAMS = programs(__file__)

_CROPS_A_LOCATION = 2

_SHARE_OF_SITES = 0.55
"""Share of the locations where soil and climate decide, whatever grows there."""

_LEAST_SHARE = 0.15
"""Each yield is that of at least this share of the crops, so that none is a curiosity."""

_TRIES = 1000
"""Tables that are drawn before it counts as certain that none fits."""

_FEW = 10
"""Of fewer crops no such shares are asked for."""


class CropYield(Benchmark):
    """Predict whether a field's yield is poor, moderate or strong.

    Two crops, each a species with a disease, grow in each location, unless told otherwise. A hidden table
    gives the yield of a location, species and disease: in about half of the locations all crops yield the
    same, elsewhere the disease decides, alike everywhere, and healthy crops yield most.

    Each train split has its own *world*, a hidden table with its own test set: train split 1 has world 0,
    train split 2 world 1, and so on. A standard error over train splits therefore covers tables too. With a
    secret seed the tables are secret.
    """

    name = "crop_yield"
    version = "2.0.0"
    description = "How much does a field yield, given a picture of its crop's leaf and its location?"
    labels = LabelSpace(("poor", "moderate", "strong"), ("yield(0)", "yield(1)", "yield(2)"))
    slots = ("crop",)
    background = _PROGRAMS["background"]
    bias = _PROGRAMS["bias"]
    test_size = 1000
    sources = ("drawn_leaves", "plants")
    named_shifts: Mapping[str, str] = MappingProxyType({"hue": "hue:0.15"})

    species: str | None = option(
        None, 'crops of these species only, joined by "+" (``pepper+potato+tomato``); all 14 by default'
    )
    world: int | None = option(None, "use this table for all train splits", least=0)
    locations: int | None = option(None, "number of locations; half the number of crops by default", least=1)
    unseen: float = option(
        0.0, "share of the fields, 0 to 0.5, that only test sets show; e.g. 0.25", least=0, most=0.5
    )

    def __post_init__(self) -> None:
        named = SPECIES if self.species is None else self.species.split("+")
        for name in named:
            if name not in SPECIES:
                raise unknown("species", name, SPECIES)
        self._wanted = tuple(name for name in SPECIES if name in named)
        self.species = None if self.species is None else "+".join(self._wanted)
        self.name = self.spec_with(world=None)
        self.crops = tuple(crop for crop in CROPS if SPECIES_OF[crop] in self._wanted)
        if len(self.crops) < _CROPS_A_LOCATION:
            raise UserError(f"{self.name}: species must include at least two crops; name more species.")
        whole = len(self.crops) == len(CROPS)
        self.concept_space = (
            CROP_SPACE if whole else ConceptSpace("crop", (*self.crops, BACKGROUND), background=BACKGROUND)
        )
        usual = -(-len(self.crops) // _CROPS_A_LOCATION)
        self.n_locations = self.locations or usual
        if self.n_locations > len(self.crops):
            raise UserError(
                f"{self.name}: locations must be between 1 and {len(self.crops)}; got {self.n_locations}."
            )
        self.metadata = {"location": f"1..{self.n_locations}"}
        self.sizes = {"small": 3 * len(self.crops), "large": 300 * len(self.crops)}
        self.own_tests = self.world is None
        self._take(self.world or 0, self.own_tests)

    def _take(self, world: int, representative: bool = False, seed: str = "") -> None:
        """Take on a world's table; a representative world, which stands for all of them, is not named."""
        self.name = self.spec_with(world=None if representative else world)
        secret = (seed,) if seed else ()
        rng = generator("crop_yield", self.version, *self._wanted, world, *secret)
        self._settle(rng)
        n_shown = round((1 - self.unseen) * len(self.crops))
        self._order = rng.permutation(len(self.crops))
        self._shown = np.sort(self._order[:n_shown])

    def for_split(self, repeat: int, seed: int | str = 0) -> CropYield:
        """The task of train split k, with world k - 1, unless `world` is set."""
        if not self.own_tests:
            return self
        task = copy.copy(self)
        task._take(repeat - 1, seed=seed if isinstance(seed, str) else "")
        return task

    def _settle(self, rng: np.random.Generator) -> None:
        """Draw the table, and write the rule that says it."""
        self.places, self.yields = _world(self.crops, self.n_locations, rng)
        rows = [
            f"location({place}), species({SPECIES_OF[crop]}), disease({DISEASE_OF[crop]})"
            for crop, place in zip(self.crops, self.places.tolist(), strict=True)
        ]
        self.true_rule = "".join(
            f"yield({crop_yield}) :- {row}.\n"
            for crop_yield, row in sorted(
                zip(self.yields.tolist(), rows, strict=True), key=lambda pair: pair[0]
            )
        )
        # One field at a time: a crop where it grows.
        fields = [f"{fact} :- field({i})." for i, row in enumerate(rows) for fact in row.split(", ")]
        self.inputs = "\n".join([f"1 {{ field(0..{len(rows) - 1}) }} 1.", *fields])

    def generate(
        self, part: Part, size: str, repeat: int, rng: np.random.Generator, exclude: Split | None = None
    ) -> Split:
        """Fields drawn at random, each crop as likely as the others.

        There are only as many different fields as crops, so train and test sets share them, unless some are
        kept for the test set; their images differ.
        """
        n = self.test_size if part == "test" else self.size(size)
        grown = self._grown(part)
        crops = grown[rng.integers(0, len(grown), n)]
        return Split(
            part,
            self.concept_space,
            crops.astype(np.int16)[:, None],
            self.yields[crops],
            {"location": self.places[crops]},
        )

    def _grown(self, part: Part) -> Ints:
        """Which crops a part shows."""
        if part != "test":
            return self._shown
        return np.sort(self._order[len(self._shown) :]) if self.unseen else self._shown

    def recognised(self, concepts: Ints16, predicted: Ints16, labels: Ints16) -> Mapping[str, Bools]:
        """Species and diseases."""
        same = self._codes[concepts] == self._codes[predicted]
        n = len(SPECIES)
        return {"species": same[..., :n].all(axis=-1), "disease": same[..., n:].all(axis=-1)}

    def facts(self, slot: int, concept: str) -> tuple[str, ...]:
        """Species and disease; nothing of a picture without a leaf."""
        if concept == BACKGROUND:
            return ()
        return (f"species({SPECIES_OF[concept]})", f"disease({DISEASE_OF[concept]})")

    def metadata_facts(self, metadata: Mapping[str, Any]) -> tuple[str, ...]:
        return (f"location({metadata['location']})",)

    def features(self, concepts: Ints16, metadata: Mapping[str, Array]) -> Floats32:
        """float32 [n, 14 + 21 + locations]: one-hot codes of species, disease and location.

        The row of a picture without a leaf has neither species nor disease.
        """
        places = np.arange(1, self.n_locations + 1)
        located = np.asarray(metadata["location"])[:, None] == places
        crops = np.where(concepts[:, 0] == BLANK, len(self.crops), concepts[:, 0])
        return np.hstack([self._codes[crops], located]).astype(np.float32)

    @property
    def _codes(self) -> Floats32:
        """float32 [crops + 1, 14 + 21]: the species' and the disease's codes; zeros for the background."""
        codes = np.zeros((len(self.crops) + 1, len(SPECIES) + len(DISEASES)), np.float32)
        for row, crop in enumerate(self.crops):
            codes[row, SPECIES.index(SPECIES_OF[crop])] = 1
            codes[row, len(SPECIES) + DISEASES.index(DISEASE_OF[crop])] = 1
        return codes

    def feature_names(self, *, knowledge: bool = False) -> tuple[str, ...]:
        if knowledge:
            return ()
        return (
            *(f"species={name}" for name in SPECIES),
            *(f"disease={name}" for name in DISEASES),
            *(f"location={place}" for place in range(1, self.n_locations + 1)),
        )


def _world(crops: tuple[str, ...], n_locations: int, rng: np.random.Generator) -> tuple[Ints16, Ints16]:
    """Where each crop grows, int16 [crops] from 1, and what it yields, int16 [crops] in 0..2."""
    locations = _fields(crops, n_locations, rng)
    places = range(1, n_locations + 1)
    for _ in range(_TRIES):
        by_site = {place: int(rng.integers(3)) for place in places if rng.random() < _SHARE_OF_SITES}
        by_disease = {name: 2 if name == "healthy" else int(rng.integers(3)) for name in DISEASES}
        yields = np.array(
            [
                by_site.get(place, by_disease[DISEASE_OF[crop]])
                for crop, place in zip(crops, locations.tolist(), strict=True)
            ],
            np.int16,
        )
        counts = np.bincount(yields, minlength=3)
        if counts.min() >= _LEAST_SHARE * len(crops) or (len(crops) < _FEW and counts.max() < len(crops)):
            return locations, yields
    raise UserError(
        f"crop_yield: with the species {', '.join(crops)} every field has the same label; name more species."
    )


def _fields(crops: tuple[str, ...], n_locations: int, rng: np.random.Generator) -> Ints16:
    """Where each crop grows: as many in each location, of several species unless most crops are of one."""
    shuffled = rng.permutation(len(crops)).tolist()
    rank = {name: k for k, name in enumerate(rng.permutation(sorted(set(SPECIES_OF.values()))).tolist())}
    # Neighbours in this order are alike, those half its length apart are not.
    order = sorted(shuffled, key=lambda i: rank[SPECIES_OF[crops[i]]])
    places = rng.permutation(n_locations) + 1
    locations = np.empty(len(crops), np.int16)
    locations[order] = np.resize(places, len(crops))
    return locations

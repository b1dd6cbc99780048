"""EDL-GEN: a classifier that is uncertain about images unlike its train images.

Sensoy, Kaplan, Cerutti, Saleki: "Uncertainty-Aware Deep Classifiers using Generative Models", AAAI 2020; the
second kind of network of the FFNSL paper. The classifier's logits give evidence ``e = exp(logit)``, the
parameters of a Dirichlet distribution ``alpha = e + 1``, probabilities ``alpha / sum(alpha)`` and an
uncertainty ``K / sum(alpha)``. It learns to tell each concept from fakes, which lie around the train images,
and in colour images to see no evidence in strange images, which lie far from them (`edl_gen_images`). Strange
images are not part of the published method.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, Unpack

import numpy as np

from nsl_bench.core.errors import UserError
from nsl_bench.core.options import option
from nsl_bench.core.types import Array, Floats, Ints, Ints16, UInts8
from nsl_bench.perception import training
from nsl_bench.perception.classifier import PresetClassifier
from nsl_bench.perception.network import How, Renderer
from nsl_bench.perception.networks.edl_gen_images import (
    KINDS,
    Generative,
    Shape,
    draw_as_tensorflow,
    halved,
    made_strange,
)
from nsl_bench.perception.networks.softmax import (
    Architecture,
    Kind,
    SoftmaxCNN,
    card_shaped,
    is_small,
    quick_size,
)

_STRANGE = "fields"

_FEW = 10_000
"""With fewer grey images they are moved about, and weights are held down more."""

_WARM_DECAY = 1e-5
"""The published 0.001 is for LeNet: on the larger network it outweighs the loss's gradients, and Adam, which
scales both alike, takes all weights to nothing within 200 steps."""

_CALIBRATED_ON, _FEWEST = 1000, 20
"""Validation images that evidence is scaled on, at most, and how many there have to be."""

_CLIP = 10.0
"""Logits beyond give no more evidence in training: exp overflows, and 22,000 is certainty enough."""

_MOST_LOGIT = 40.0
"""And none in predictions. Scaled logits beyond 10 are common, and cut off there they would all be equal."""


class EDLGen(PresetClassifier):
    """An evidential classifier, trained against generated images.

    Two presets. ``quick``, the default, takes minutes on a processor: a decoder with 32 in place of 256
    filters, a fake for every second image, a learning rate that falls to zero. Digits: at most 4,000 of each,
    and so many epochs that about 32,000 are seen; where there are fewer than 10,000, about 128,000 are seen,
    moved at random by up to two pixels, and the squared weights count ten times as much. Cards: 40
    of each concept, about 50,000 seen, squared weights that count a hundredth, the layers, sizes and first
    weights of the Softmax CNN in place of LeNet's, fakes at half the height and width, and a divergence
    whose weight rises to 1 over the first half. Other colour images: the same, but 160 of each concept, about
    12,500 seen. All colour images: random colours as strange images, as many as fakes. ``paper`` is the FFNSL
    paper's: LeNet with 500 units, 256 filters (or one dense layer for images larger than digits), 20 epochs
    over all images in full, validation images included, evidence that is not scaled, and the authors' scales.
    """

    name = "edl_gen"
    version = "5"
    validates = True
    sizes: ClassVar[type[Architecture]] = Architecture

    kind: Literal["auto", "digits", "cards", "lenet"] = option(
        "auto", "the classifier's architecture, see `nsl_bench.perception.networks.softmax`", after="preset"
    )
    dense: int | None = option(
        None, "units of the classifier's hidden dense layer", least=1, after="images_per_concept"
    )
    filters: int | None = option(None, "of the decoder's first layer", least=1)
    latent: int = option(100, "numbers in a code", least=1)
    warm: bool | None = option(
        None,
        "whether the classifier starts from the weights of the Softmax CNN of the same seed and sizes, "
        "which is trained first if need be; by default for colour images in the quick preset",
        later=True,
    )
    fake_every: int | None = option(None, "one fake for every so many images", least=1)
    fakes: Literal["pixels", "inputs"] | None = option(
        None,
        "scale on which fakes lie in -1..1: ``pixels``, black to white, or ``inputs``, the classifier's, "
        "as in the authors' code, where digits reach 2.8 and cards lie in 0..1; by default ``inputs`` in the "
        "paper preset",
        later=True,
    )
    published: bool = option(
        False,
        "as in the authors' code, where the paper's text says nothing: first weights as TensorFlow draws "
        "them, an image critic with an output for each concept, and images in their own order",
        later=True,
    )
    coarseness: int | None = option(
        None, "fakes are made at this fraction of the images' height and width, then scaled up", least=1
    )
    decay: float | None = option(
        None,
        "weight of the classifier's squared weights in its loss; 0.001 as published, or see above",
        least=0,
    )
    strange: str | None = option(
        None,
        f"kinds of strange images that training uses ({', '.join(KINDS)}), joined by ``+``, or ``none``; by "
        "default ``fields`` for colour images in the quick preset. Networks learn to see no evidence in them",
        test=lambda kinds: kinds == "none" or set(kinds.split("+")) <= KINDS.keys(),
        words=f"none or some of {', '.join(KINDS)}, joined by +",
        later=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.quick:
            self.validates, self.fakes = False, self.fakes or "inputs"

    def basis(self, shape: tuple[int, int, int]) -> SoftmaxCNN | None:
        coloured = shape[2] == 3 and not is_small(*shape[:2])
        wanted = self.quick and coloured and self.kind in ("auto", "cards")
        if not (wanted if self.warm is None else self.warm):
            return None
        if self.kind == "lenet":
            raise UserError(
                "edl_gen: kind=lenet cannot be combined with a warm start from the Softmax CNN, which "
                "has other layers."
            )
        shared = ("preset", "kind", "dense", "height", "width", "seed", "precision")
        return SoftmaxCNN(**{name: getattr(self, name) for name in shared})

    def _kinds(self, channels: int) -> tuple[str, ...]:
        """The kinds of strange images in training on images of so many channels."""
        usual = _STRANGE if self.quick and channels == 3 else "none"
        chosen = self.strange or usual
        return () if chosen == "none" else tuple(dict.fromkeys(chosen.split("+")))

    def design(self, shape: tuple[int, int, int], outputs: int) -> Architecture:
        """The sizes of the classifier for images of a shape."""
        basis = self.basis(shape)
        if basis is not None:
            return basis.design(shape, outputs)
        height, width, channels = shape
        quick, small = self.quick, is_small(height, width)
        kind: Kind = ("lenet" if small or not quick else "cards") if self.kind == "auto" else self.kind
        if quick and not small:
            height, width = quick_size(height, width)
        dense = {"digits": 96 if quick else 128, "cards": 512, "lenet": 500}[kind]
        return Architecture(
            kind, self.height or height, self.width or width, channels, self.dense or dense, outputs
        )

    def check(self, shape: tuple[int, int, int], labels: Ints16, concepts: tuple[str, ...]) -> None:
        super().check(shape, labels, concepts)
        self._fakes(self.design(shape, len(concepts)))

    def _fakes(self, design: Architecture) -> tuple[Shape, int]:
        """The sizes of the generative half, and at what fraction of the images it makes fakes."""
        part = self.coarseness or (2 if self.quick and not _like_digits(design) else 1)
        filters = self.filters or (32 if self.quick else 256 if _like_digits(design) else 0)
        height, width = design.height // part, design.width // part
        return Shape(height, width, design.channels, self.latent, filters), part

    def fit(self, render: Renderer, labels: Ints16, concepts: tuple[str, ...], **how: Unpack[How]) -> Self:
        shape = render(np.zeros(1, np.int64)).shape[1:]
        design, basis = self.design(shape, len(concepts)), self.basis(shape)
        if basis is not None:
            if not isinstance(self.start, SoftmaxCNN):
                self.start = basis.fit(render, labels, concepts, **how)
            start = dict(self.start.parameters())
            if isinstance(self.start.architecture, Architecture):
                design = self.start.architecture  # kept weights may be of other sizes than new ones
        else:
            start = {}
        cards = card_shaped(design.height, design.width)
        most = 4000 if _like_digits(design) else 40 if cards else 160
        limit = self.images_per_concept or (most if self.quick else None)
        rows = training.first_of_each(labels, limit)
        images = self._collect(render, rows, design, how)
        if start:
            self._mean, self._deviation = start.pop("mean"), start.pop("deviation")
        elif self.fakes == "inputs" and not _like_digits(design):
            self._mean, self._deviation = np.zeros(3, np.float32), np.full(3, 255, np.float32)
        else:
            self._mean, self._deviation = training.statistics(images)
        few = self.quick and _like_digits(design) and len(rows) < _FEW
        settings = self._settings(
            _quick_epochs(len(rows), design, bool(start)) if self.quick else 20,
            batch=64 if _like_digits(design) else 32,
            learning_rate=3e-4 if start else 1e-3,
            anneal=self.quick,
            jitter=2 if few else 0,
            shuffled=not self.published,
            **how,
        )
        fakes, part = self._fakes(design)
        usual = 0.01 if few else _WARM_DECAY if start else 0.001
        decay = usual if self.decay is None else self.decay
        numbers = labels[rows].astype(np.int64)
        self._module = self._train(design, fakes, start, images, numbers, decay, settings)
        scale = self._calibrate(design, how)
        own = {
            "filters": fakes.filters,
            "coarseness": part,
            "decay": decay,
            "warm": bool(start),
            "scale": scale,
            **{f"strange_{kind}": True for kind in self._kinds(design.channels)},
        }
        self._finish(design, concepts, settings, images=len(rows), **own)
        return self

    def _train(
        self,
        design: Architecture,
        shape: Shape,
        start: Mapping[str, Array],
        images: UInts8,
        labels: Ints,
        decay: float,
        settings: training.Settings,
    ) -> Any:
        import torch

        device = training.pick_device(settings.device)
        order = np.random.default_rng(settings.seed)
        mean, deviation = (
            torch.from_numpy(numbers).to(device)[:, None, None] for numbers in (self._mean, self._deviation)
        )
        with training.seeded(device, settings.seed):
            module = design.build()
            if start:
                module.load_state_dict({k: torch.from_numpy(v.astype(np.float32)) for k, v in start.items()})
                self._rescale(module, images, labels)
            module = module.to(device, memory_format=torch.channels_last)
            generative = Generative(shape, device, design.outputs if self.published else 1)
            if self.published and not start:
                draw_as_tensorflow(generative, module)
            optimiser = torch.optim.Adam(module.parameters(), lr=settings.learning_rate)
            module.train()
            every = self.fake_every or (2 if self.quick else 1)
            size, small = (design.height, design.width), (shape.height, shape.width)
            settled = 0.5 if start else 0.0
            weights = [p for name, p in module.named_parameters() if name.endswith("weight")]
            kinds = self._kinds(design.channels)
            spread, centre = (deviation, mean / deviation) if self.fakes == "inputs" else (127.5, 1)

            def step(rows: Ints, done: float) -> None:
                chosen = training.moved(images[rows], settings.jitter, order)
                pixels = _tensor(chosen, device)
                target = torch.from_numpy(labels[rows]).to(device)
                with training.computing_in(settings.precision, device.type):
                    some = slice(None, None, every)
                    fake = _resized(generative.step(_resized(pixels[some] / spread - centre, small)), size)
                    fake_pixels = (fake.float() + centre) * spread
                    inputs = [pixels, fake_pixels]
                    if kinds:
                        inputs.append(_tensor(made_strange(chosen[some], kinds, order), device))
                    outputs = module((torch.cat(inputs) - mean) / deviation).float()
                if settings.anneal:
                    optimiser.param_groups[0]["lr"] = settings.learning_rate * (1 - done)
                squares = torch.stack([w.square().sum() for w in weights]).sum()
                real, against, *strange = outputs.split([len(part) for part in inputs])
                strength = min(1.0, done / settled) if settled else 1.0
                total = loss(real, against, target, target[some], strength) + decay / 2 * squares
                if strange:
                    total = total + total_evidence(strange[0])
                optimiser.zero_grad()
                total.backward()
                optimiser.step()

            parts = {"module": module, "optimiser": optimiser, **generative.parts()}
            training.epochs(parts, step, order, images, settings, self.checkpoint)
        return training.finished(module)

    def _calibrate(self, design: Architecture, how: How) -> float:
        """Scale the trained network's logits by what is best on validation images; gives the factor."""
        import torch

        if self.validation is None:
            return 1.0
        labels = self.validation.labels
        rows = training.first_of_each(labels, -(-_CALIBRATED_ON // design.outputs))
        if len(np.unique(labels[rows])) < 2 or len(rows) < _FEWEST:
            return 1.0
        images = self._collect(self.validation.render, rows, design, how)
        changed = halved(images, labels[rows], np.random.default_rng(self.seed))
        own, others = (
            training.logits(self._module, part, self._mean, self._deviation, design.outputs)
            for part in (images, changed)
        )
        scale = best_scale(own, others, labels[rows].astype(np.int64))
        with torch.no_grad():
            for parameter in self._module[-1].parameters():
                parameter.mul_(scale)
        training.finished(self._module)
        return scale

    def _rescale(self, module: Any, images: UInts8, labels: Ints) -> None:
        """Make a Softmax CNN's logits evidence: only their differences meant anything so far.

        The last layer is scaled and moved so that on train images an own logit is about 6, another about -2.
        """
        import torch

        rows = np.arange(0, len(images), max(1, len(images) // 128))
        module.eval()
        logits = training.logits(module, images[rows], self._mean, self._deviation, module[-1].out_features)
        module.float()
        own = logits[np.arange(len(rows)), labels[rows]].mean()
        others = (logits.sum() / len(rows) - own) / (logits.shape[1] - 1)
        factor = float(8 / max(own - others, 1.0))
        with torch.no_grad():
            module[-1].weight *= factor
            module[-1].bias.mul_(factor).add_(float(6 - factor * own))

    @property
    def header(self) -> dict[str, Any]:
        # What is predicted depends on it, so predictions in the cache do.
        return {**super().header, "most_logit": _MOST_LOGIT}

    def probabilities(self, logits: Floats) -> Floats:
        return _shares(logits)

    def uncertainty(self, images: UInts8) -> Floats:
        """float64 [m]: ``K / sum(alpha)``, in 0..1, of images, uint8 [m, height, width, channels]."""
        alpha = _alpha(self.logits(images))
        return np.asarray(alpha.shape[1] / alpha.sum(axis=1), np.float64)


def best_scale(own: Floats, strange: Floats, labels: Ints) -> float:
    """The factor in 1..8 for logits that is best on images and on strange ones, half and half.

    Best is the least Brier score, where a strange image shows every concept with the same probability.
    Evidence is never made less. Training leaves it too small: the loss all but vanishes where an output is a
    few units above 0, but K concepts count as K observations, and to be sure of one of 52 takes 7.

    Args:
        own: float64 [m, K], logits of images.
        strange: float64 [n, K], logits of images made strange.
        labels: int64 [m], the images' concepts.
    """
    truth = np.eye(own.shape[1])[labels]

    def brier(scale: float) -> float:
        far = np.square(_shares(scale * own) - truth).sum(axis=1).mean()
        return float(far + np.square(_shares(scale * strange) - 1 / own.shape[1]).sum(axis=1).mean())

    # Where evidence is cut off the score is flat, so that all are tried; of equals the least is taken.
    scales: list[float] = np.geomspace(1, 8, 100).round(3).tolist()
    return min(scales, key=brier)


def _shares(logits: Floats) -> Floats:
    alpha = _alpha(logits)
    return np.asarray(alpha / alpha.sum(axis=1, keepdims=True), np.float64)


def _like_digits(design: Architecture) -> bool:
    """Whether images are grey, or as small as digits."""
    return design.channels == 1 or is_small(design.height, design.width)


def _quick_epochs(images: int, design: Architecture, warm: bool) -> int:
    if not _like_digits(design):
        seen = 50_000 if card_shaped(design.height, design.width) else 12_500
        return min(max(round((seen if warm else 125_000) / images), 2), 40)
    return min(max(round((128_000 if images < _FEW else 32_000) / images), 2), 400)


def _resized(images: Any, size: tuple[int, int]) -> Any:
    from torch.nn.functional import interpolate

    if tuple(images.shape[2:]) == size:
        return images
    return interpolate(images.float(), size=size, mode="bilinear", antialias=True, align_corners=False)


def _alpha(logits: Floats) -> Floats:
    return np.exp(np.clip(logits, -_MOST_LOGIT, _MOST_LOGIT)) + 1


def loss(real: Any, fake: Any, target: Any, fake_target: Any, strength: float = 1.0) -> Any:
    """The classifier's loss without weight decay, a scalar (Sensoy et al. 2020, equations 5 to 7).

    Each output tells its concept from fakes, ``-log sigmoid(real_y) - log(1 - sigmoid(fake_y))``; the
    evidence for wrong concepts is drawn to none, ``KL(Dirichlet(alpha of the others) || Dirichlet(1))``.

    Args:
        real: float [m, K], logits of images.
        fake: float [k, K], logits of fakes.
        target: int64 [m], the images' concepts.
        fake_target: int64 [k], the concepts of the images that the fakes were made from.
        strength: weight of the divergence.
    """
    import torch
    from torch.nn.functional import softplus

    own = target[:, None]
    classified = softplus(-real.gather(1, own)).mean() + softplus(fake.gather(1, fake_target[:, None])).mean()
    alpha = real.clamp(-_CLIP, _CLIP).exp() + 1
    others = torch.ones_like(real, dtype=torch.bool).scatter(1, own, False)
    wrong = alpha[others].reshape(len(alpha), -1)
    return classified + strength * _divergence(wrong).mean()


def total_evidence(strange: Any) -> Any:
    """The loss on strange images, a scalar: the mean of ``log(1 + sum of the evidence for all concepts)``.

    It is the fakes' part of the published loss, ``-log(1 - sigmoid)``, of all outputs as one.

    Args:
        strange: float [n, K], logits of strange images.
    """
    from torch.nn.functional import softplus

    return softplus(strange.logsumexp(1)).mean()


def _tensor(images: UInts8, device: Any) -> Any:
    """Float [m, channels, height, width] of images, in 0..255."""
    import torch

    return torch.from_numpy(images).to(device).permute(0, 3, 1, 2).float()


def _divergence(alpha: Any) -> Any:
    """[m]: KL(Dirichlet(alpha) || Dirichlet(1, ..., 1)) for alpha [m, k]."""
    import torch

    total = alpha.sum(1)
    k = torch.tensor(float(alpha.shape[1]), device=alpha.device)
    spread = (alpha - 1) * (torch.digamma(alpha) - torch.digamma(total)[:, None])
    return spread.sum(1) + torch.lgamma(total) - torch.lgamma(alpha).sum(1) - torch.lgamma(k)

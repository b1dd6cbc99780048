import numpy as np
import pytest
import torch

from nsl_bench.perception import training
from nsl_bench.perception.network import Validation
from nsl_bench.perception.networks.edl_gen import EDLGen, best_scale, loss, total_evidence
from nsl_bench.perception.networks.edl_gen_images import (
    KINDS,
    Generative,
    Shape,
    draw_as_tensorflow,
    fields,
    halved,
    made_strange,
    recoloured,
    shuffled,
)
from nsl_bench.perception.networks.softmax import SoftmaxCNN


def test_the_loss_is_the_published_one() -> None:
    """Written out with torch.distributions, an image at a time."""
    chance = torch.Generator().manual_seed(0)
    real, fake = (2 * torch.randn(5, 4, generator=chance) for _ in range(2))
    target = torch.tensor([0, 3, 1, 1, 2])
    expected = 0.0
    for row, y in enumerate(target.tolist()):
        expected -= torch.log(torch.sigmoid(real[row, y])) / 5
        expected -= torch.log(1 - torch.sigmoid(fake[row, y])) / 5
        alpha = torch.cat([real[row, :y], real[row, y + 1 :]]).exp() + 1
        wrong, flat = (torch.distributions.Dirichlet(a) for a in (alpha, torch.ones(3)))
        expected += torch.distributions.kl_divergence(wrong, flat) / 5
    assert torch.allclose(loss(real, fake, target, target), expected, atol=1e-5)


def test_probabilities_and_uncertainty_are_those_of_the_dirichlet() -> None:
    network = EDLGen()
    logits = np.log(np.array([[97.0, 1.0, 1e-9, 1e-9], [1e-9] * 4, [1e30, 1, 1, 1]]))
    probabilities = network.probabilities(logits)
    assert np.allclose(probabilities[0], np.array([98, 2, 1, 1]) / 102, atol=1e-5)
    assert np.allclose(probabilities[1], 0.25, atol=1e-4)
    assert probabilities[2, 0] > 0.999 and np.isfinite(probabilities).all()


def test_evidence_that_overflows_keeps_its_gradient() -> None:
    real = torch.tensor([[90.0, 80.0, -90.0]], requires_grad=True)
    value = loss(real, real.detach(), torch.tensor([0]), torch.tensor([0]))
    value.backward()  # type: ignore[no-untyped-call]
    assert torch.isfinite(value) and torch.isfinite(real.grad).all()


def test_the_published_sizes() -> None:
    design = EDLGen(preset="paper").design((28, 28, 1), 4)
    state = {name: tuple(t.shape) for name, t in design.build().state_dict().items() if "weight" in name}
    assert list(state.values()) == [(20, 1, 5, 5), (50, 20, 5, 5), (500, 800), (4, 500)]
    decoder = Generative(Shape(28, 28, 1, 100, 256), torch.device("cpu")).decoder
    shapes = [tuple(p.shape) for p in decoder.parameters() if p.dim() == 4]
    assert shapes == [(100, 256, 7, 7), (256, 128, 5, 5), (128, 1, 5, 5)]
    assert EDLGen().design((274, 174, 3), 52).kind == "cards"
    assert EDLGen(preset="paper").design((274, 174, 3), 52).height == 274
    with torch.device("meta"):
        of_cards = Generative(Shape(274, 174, 3, 100, 0), torch.device("meta")).decoder
    assert [tuple(p.shape) for p in of_cards.parameters()] == [(143028, 100), (143028,)]


@pytest.mark.parametrize(("scale", "mean"), [("inputs", [0, 0, 0]), ("pixels", [100, 100, 100])])
def test_the_paper_preset_is_the_papers(scale: str, mean: list[float]) -> None:
    """All images, the authors' scales, no scaled evidence, and a spec of its own."""
    network = EDLGen(preset="paper", epochs=1, dense=4, latent=2, fakes=scale)
    images, labels = np.full((4, 40, 40, 3), 100, np.uint8), np.array([0, 1, 0, 1], np.int16)
    network.validation = Validation(lambda rows: images[rows], labels)
    network.fit(lambda rows: images[rows], labels, ("a", "b"))
    assert network.parameters()["mean"].tolist() == mean and network.details["training"]["filters"] == 0
    assert not network.validates and network.details["training"]["scale"] == 1
    assert EDLGen().validates and "fakes=inputs" in EDLGen(preset="paper").spec


def test_first_weights_as_in_the_authors_code() -> None:
    """tf.variance_scaling_initializer(), truncated_normal_initializer(0.02), else Glorot's uniform."""
    torch.manual_seed(0)
    classifier = EDLGen(preset="paper").design((28, 28, 1), 4).build()
    generative = Generative(Shape(28, 28, 1, 100, 256), torch.device("cpu"), outputs=4)
    draw_as_tensorflow(generative, classifier)
    for critic in (classifier, generative.image_critic):
        *_, hidden, _, last = critic
        assert hidden.weight.std().item() == pytest.approx(800**-0.5, rel=0.01)
        assert hidden.weight.abs().max() < 2.001 * 800**-0.5 / 0.8796 and len(last.weight) == 4
    first, *_ = (part for part in generative.decoder if isinstance(part, torch.nn.ConvTranspose2d))
    assert first.weight.std().item() == pytest.approx(0.02 * 0.8796, rel=0.01) and not first.bias.any()
    assert generative.encoder[-1].weight.abs().max().item() == pytest.approx((6 / 1000) ** 0.5, rel=0.01)


def test_images_in_their_own_order() -> None:
    images, labels = np.zeros((6, 28, 28, 1), np.uint8), np.arange(6, dtype=np.int16) % 2
    images[labels == 1, 8:20, 8:20] = 255
    plain, published = (
        EDLGen(preset="paper", epochs=1, dense=4, latent=2, filters=2, published=way) for way in (False, True)
    )
    for network in (plain, published):
        network.fit(lambda rows: images[rows], labels, ("a", "b"))
    assert published.details["training"]["shuffled"] is False and "shuffled" not in plain.details["training"]
    seen: list[int] = []
    settings = training.Settings(epochs=2, batch=4, learning_rate=1.0, anneal=False, seed=0, shuffled=False)
    rng = np.random.default_rng(0)
    training.epochs({}, lambda rows, _: seen.extend(rows.tolist()), rng, images, settings, None)
    assert seen == 2 * [*range(6)]
    assert "published=True" in published.spec and "published" not in plain.spec


@pytest.mark.parametrize(("height", "width", "channels"), [(28, 28, 1), (37, 50, 3)])
def test_fakes_are_images_of_the_size(height: int, width: int, channels: int) -> None:
    torch.manual_seed(0)
    generative = Generative(Shape(height, width, channels, 6, 4), torch.device("cpu"))
    images = torch.rand(3, channels, height, width) * 2 - 1
    before = {name: [p.clone() for p in part.parameters()] for name, part in _modules(generative).items()}
    fake = generative.step(images)
    assert fake.shape == images.shape and not fake.requires_grad and fake.abs().max() <= 1
    for name, part in _modules(generative).items():
        assert any(not torch.equal(a, b) for a, b in zip(before[name], part.parameters(), strict=True)), name


def _modules(generative: Generative) -> dict[str, torch.nn.Module]:
    return {name: part for name, part in generative.parts().items() if isinstance(part, torch.nn.Module)}


def test_usual_options_are_not_in_the_spec() -> None:
    """So that options that came later leave older specs as they are."""
    network = EDLGen()
    assert not {"strange", "precision", "fakes"} & network.options.keys()
    assert "strange=none" in EDLGen(strange="none").spec
    assert "precision=bfloat16" in EDLGen(precision="bfloat16").spec
    assert EDLGen(precision="bfloat16").basis((96, 64, 3)).precision == "bfloat16"


def test_the_loss_of_strange_images() -> None:
    logits = torch.tensor([[1.0, -2.0, 0.5], [90.0, 80.0, -90.0]], requires_grad=True)
    value = total_evidence(logits)
    expected = (np.log1p(np.exp([1.0, -2.0, 0.5]).sum()) + 90) / 2
    assert value.item() == pytest.approx(expected, rel=1e-4)
    value.backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None and torch.isfinite(logits.grad).all() and logits.grad[1, 0] > 0.49


def test_training_against_strange_images_takes_evidence_from_them() -> None:
    """Red or green: without strange images, colours that no train image has are evidence too."""
    chance = np.random.default_rng(0)
    labels = np.tile(np.arange(2, dtype=np.int16), 32)
    images = chance.integers(150, 200, (64, 24, 16, 3)).astype(np.uint8)
    images[labels == 0, 6:18, 4:12] = (230, 40, 40)
    images[labels == 1, 6:18, 4:12] = (40, 230, 40)
    unseen = fields(np.empty((100, 24, 16, 3), np.uint8), chance)
    sizes = {"kind": "lenet", "dense": 8, "filters": 4, "latent": 4, "coarseness": 1, "fake_every": 32}
    more = []
    for seed in range(3):
        found = []
        for strange in ("none", "fields"):
            network = EDLGen(epochs=20, warm=False, strange=strange, seed=seed, **sizes)
            network.fit(lambda rows: images[rows], labels, ("red", "green"))
            found.append(network.uncertainty(unseen).mean())
        more.append(found[1] - found[0])
    assert np.mean(more) > 0.05, "0.1 to 0.4 for each seed"


def test_a_warm_start_has_the_sizes_of_the_weights_it_starts_from() -> None:
    images = np.random.default_rng(0).integers(0, 256, (12, 20, 20, 1)).astype(np.uint8)
    labels = np.tile(np.arange(2, dtype=np.int16), 6)
    options = {"kind": "digits", "epochs": 1, "dense": 8}
    network = EDLGen(warm=True, filters=4, latent=4, **options)
    network.start = SoftmaxCNN(height=16, width=18, **options)
    for part in (network.start, network):
        part.fit(lambda rows: images[rows], labels, ("a", "b"))
    assert (network.architecture.height, network.architecture.width) == (16, 18)


def test_evidence_is_scaled_where_training_left_it_small() -> None:
    """52 concepts: an own logit of 4.7, which a loss of 0.009 leaves, means a probability of about 0.6."""
    chance = np.random.default_rng(0)
    labels = np.arange(208) % 52
    own = chance.normal(-3, 1, (208, 52))
    own[np.arange(208), labels] = chance.normal(4.7, 1.5, 208)
    unknown = chance.normal(-3, 1, (208, 52))
    network = EDLGen()
    before = network.probabilities(own).max(axis=1)
    scale = best_scale(own, unknown, labels)
    after, strange = (network.probabilities(scale * logits).max(axis=1) for logits in (own, unknown))
    assert 0.5 < before.mean() < 0.65 and after.mean() > 0.9 and strange.mean() < 0.1
    assert (after < 0.25).mean() < 0.09 and (after > 0.95).mean() > 0.38
    sure = np.where(np.eye(52)[labels] == 1, 9.0, -9.0)
    assert best_scale(sure, sure, labels) < 1.01, "evidence for what is strange is not made more"


def test_a_network_is_scaled_on_validation_images_only() -> None:
    images = np.random.default_rng(0).integers(0, 256, (60, 20, 20, 1)).astype(np.uint8)
    labels = np.tile(np.arange(2, dtype=np.int16), 30)
    images[labels == 1, :, :8] //= 4
    seen: list[int] = []

    def rendered(rows: np.ndarray) -> np.ndarray:
        seen.extend(rows.tolist())
        return images[:40][rows]

    plain, scaled = (EDLGen(kind="digits", dense=8, filters=4, latent=4, epochs=3) for _ in range(2))
    scaled.validation = Validation(lambda rows: images[40:][rows], labels[40:])
    for network in (plain, scaled):
        network.fit(rendered, labels[:40], ("a", "b"))
    assert max(seen) < 40
    factor = scaled.details["training"]["scale"]
    assert plain.details["training"]["scale"] == 1 <= factor
    assert np.allclose(factor * plain.logits(images), scaled.logits(images), rtol=0.01, atol=0.02)


def test_halves() -> None:
    images = np.arange(6, dtype=np.uint8)[:, None, None, None] * np.ones((6, 5, 4, 3), np.uint8)
    labels = np.array([0, 0, 1, 1, 2, 2], np.int16)
    made = halved(images, labels, np.random.default_rng(0))
    assert (made[:, :2] == images[:, :2]).all()
    assert all(len(np.unique(row[2:])) == 1 for row in made)
    assert (labels[made[:, 2, 0, 0]] != labels).all()


def test_fields_are_of_one_colour_or_smooth() -> None:
    made = fields(np.empty((50, 20, 30, 3), np.uint8), np.random.default_rng(0)).astype(int)
    plain = [len(np.unique(image.reshape(-1, 3), axis=0)) == 1 for image in made]
    assert 0 < sum(plain) < 50
    assert len(np.unique(made[:, 0, 0], axis=0)) == 50, "each has colours of its own"


def test_recoloured_images_keep_their_shapes() -> None:
    images = np.random.default_rng(0).choice(np.array([0, 255], np.uint8), (8, 5, 4, 3))
    made = recoloured(images, np.random.default_rng(1))
    for before, after in zip(images, made, strict=True):
        pairs = np.unique(np.concatenate([before, after], axis=2).reshape(-1, 6), axis=0)
        assert len(pairs) == len(np.unique(before.reshape(-1, 3), axis=0)), "a colour becomes one colour"
    assert (made != images).any(axis=(1, 2, 3)).all()
    assert np.abs(recoloured(images[..., :1], np.random.default_rng(1)).astype(int)).max() <= 255


def test_shuffled_quarters() -> None:
    image = np.zeros((1, 5, 6, 1), np.uint8)
    image[0, :2, 3:], image[0, 2:4, :3], image[0, 2:4, 3:] = 1, 2, 3
    for seed in range(20):
        made = shuffled(image, np.random.default_rng(seed))[0, ..., 0]
        quarters = [made[:2, :3], made[:2, 3:], made[2:4, :3], made[2:4, 3:]]
        found = [int(np.unique(quarter).item()) for quarter in quarters]
        assert sorted(found) == [0, 1, 2, 3] and all(k != q for k, q in enumerate(found))


def test_images_made_strange_are_of_every_kind() -> None:
    images = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3)).astype(np.uint8)
    made = made_strange(images, ("shuffled", "recoloured"), np.random.default_rng(2))
    same = (np.sort(made.reshape(40, -1)) == np.sort(images.reshape(40, -1))).all(axis=1)
    assert 5 < same.sum() < 35 and (made != images).any(axis=(1, 2, 3)).all()
    assert set(KINDS) == {"fields", "recoloured", "shuffled"}


def test_two_large_logits_are_not_equal() -> None:
    logits = np.array([[12.0, 15.0, -3.0], [35.0, 14.0, 38.0]])
    assert EDLGen().probabilities(logits).argmax(axis=1).tolist() == [1, 2]
    assert np.isfinite(EDLGen().probabilities(np.full((1, 3), 1e9))).all()

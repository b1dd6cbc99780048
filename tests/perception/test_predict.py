import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.types import BLANK
from nsl_bench.core.workers import spread
from nsl_bench.data.content import image_digest
from nsl_bench.perception import predict, trained_networks
from nsl_bench.perception.network import Network
from nsl_bench.run.mock_tasks import Patches, PatchSource
from nsl_bench.testing.toy import Negative, patches

SPEC = "softmax:epochs=12,dense=16"


@pytest.fixture(scope="module")
def network() -> Network:
    return trained_networks.train_network(SPEC, Patches(), PatchSource())


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))


def test_predicts_each_image_once(network: Network) -> None:
    source = PatchSource()
    indices = np.array([5, 3, 40, 3, 59], np.int64)
    probabilities, digests = predict.predict(network, source, "a", None, indices)
    assert source.rendered == 4
    images = source.render("a", indices)
    assert np.array_equal(probabilities, network.predict_proba(images))
    assert [row.tobytes() for row in digests] == [image_digest(image) for image in images]
    source.rendered = 0
    again, _ = predict.predict(network, source, "a", None, indices[:3])
    more, _ = predict.predict(network, source, "a", None, np.array([7, 5], np.int64))
    assert source.rendered == 1
    assert np.array_equal(again, probabilities[:3]) and np.array_equal(more[1], probabilities[0])


def test_what_another_process_works_on_is_done_last(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predict, "_BLOCK", 10)
    source, wanted = PatchSource(), np.arange(30, dtype=np.int64)
    path = predict._path("predictions", source, "a", None, network.fingerprint())
    turns: list[list[int]] = []
    missing = [wanted]

    def look() -> np.ndarray:
        return missing[-1]

    held = cache.lock(path.with_name(f"{path.stem}-0"))
    held.__enter__()
    for block in predict._in_turns(path, look, 1):
        turns.append(block.tolist())
        missing.append(np.setdiff1d(missing[-1], block))
        if len(turns) == 2:  # the other one is ready with a part of its block
            missing.append(np.setdiff1d(missing[-1], np.arange(4)))
            held.__exit__(None, None, None)
    assert turns == [[*range(10, 20)], [*range(20, 30)], [*range(4, 10)]]


def test_rows_that_vanish_are_made_again(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, indices = PatchSource(), np.array([2, 8], np.int64)
    merge, vanished = predict._Table.merge, []

    def merging(table: predict._Table, path: Path, *given: np.ndarray) -> object:
        found = merge(table, path, *given)
        if not vanished or vanished == ["always"]:
            path.unlink()
            vanished.extend([] if vanished else ["once"])
        return found

    monkeypatch.setattr(predict._Table, "merge", merging)
    seen, _ = predict.predict(network, source, "a", None, indices)
    assert np.array_equal(seen, network.predict_proba(source.render("a", indices)))
    vanished[:] = ["always"]
    with pytest.raises(UserError, match="are removed during the run"):
        predict.predict(network, source, "b", None, indices)


def test_parts_shifts_sources_and_networks_are_kept_apart(network: Network) -> None:
    indices = np.array([1, 2], np.int64)
    other = trained_networks.train_network(SPEC, Patches(), PatchSource(), seed=1)
    answers = {
        predict.predict(which, source, part, shift, indices)[0].tobytes()
        for which, source, part, shift in (
            (network, PatchSource(), "a", None),
            (network, PatchSource(), "network", None),
            (network, PatchSource(), "a", Negative()),
            (other, PatchSource(), "a", None),
        )
    }
    assert len(answers) == 4


def test_predictions_of_a_split(network: Network) -> None:
    source = PatchSource()
    split = patches(percent=50)
    seen = predict.predictions_of(split, source, Negative(), network)
    assert seen.probabilities.shape == (60, 2, 3)
    assert np.array_equal(seen.blank, split.images == BLANK)
    assert (seen.probabilities[seen.blank] == 0).all() and (seen.concepts[seen.blank] == BLANK).all()
    shown, shifted = ~seen.blank, split.shifted[:, None]
    right = seen.concepts == split.concepts
    assert right[shown & ~shifted].mean() > 0.9
    assert right[shown & shifted].mean() < 0.6


def test_image_digests_need_no_network_and_agree_with_predict(network: Network) -> None:
    source = PatchSource()
    split = patches(percent=30)
    digests = predict.image_digests(split, source, Negative())
    assert digests.shape == (60, 2, 16)
    assert (digests[split.images == BLANK] == 0).all()
    row = int(np.flatnonzero(split.shifted & (split.images[:, 1] != BLANK))[0])
    image = Negative().render(source, split.pool, split.images[row].astype(np.int64))[1]
    assert digests[row, 1].tobytes() == image_digest(image)
    rendered = source.rendered
    assert np.array_equal(digests, predict.image_digests(split, source, Negative()))
    assert source.rendered == rendered


def test_a_damaged_file_is_made_again(network: Network, tmp_path: Path) -> None:
    indices = np.array([4, 9], np.int64)
    before, _ = predict.predict(network, PatchSource(), "a", None, indices)
    for path in tmp_path.rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:100])
    after, _ = predict.predict(network, PatchSource(), "a", None, indices)
    assert np.array_equal(before, after)


@pytest.mark.parametrize(
    ("images", "column"),
    [
        ([4, None], [[0.2, 0.3, 0.5]] * 2),
        ([4, 9], [0.2, 0.8]),
        ([4, 9], [[0.2, 0.3, 0.5], None]),
        ([4, 9], [[0.2, 0.3, 0.5], [None, 0.5, 0.5]]),
        ([4, 9], [[0.2, 0.3, 0.5], [math.nan, 0.5, 0.5]]),
        ([9, 4], [[0.2, 0.3, 0.5]] * 2),
    ],
)
def test_another_table_is_made_again(
    network: Network, images: list[int | None], column: list[object], tmp_path: Path
) -> None:
    indices = np.array([4, 9], np.int64)
    before, _ = predict.predict(network, PatchSource(), "a", None, indices)
    (path,) = (tmp_path / "predictions").glob("*.parquet")
    pq.write_table(pa.table({"image": images, "probabilities": column}), path)
    after, _ = predict.predict(network, PatchSource(), "a", None, indices)
    assert np.array_equal(before, after)


def test_probabilities_that_are_none(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        type(network), "predict_proba", lambda self, images: np.full((len(images), 3), np.nan)
    )
    with pytest.raises(UserError, match="network softmax returned NaN or infinite probabilities"):
        predict.predict(network, PatchSource(), "a", None, np.array([4], np.int64))


def _end(shared: None, job: int) -> None:
    os._exit(job)


def test_a_process_that_is_killed_gets_a_sentence() -> None:
    with pytest.raises(UserError, match="A worker process ended unexpectedly"):
        list(spread(_end, None, [1, 2], 2))


def test_several_processes_render_the_same(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    indices = np.arange(60, dtype=np.int64)
    alone, digests = predict.predict(network, PatchSource(), "a", None, indices)
    monkeypatch.setenv(cache.VARIABLE, str(cache.folder("another")))
    monkeypatch.setattr(predict, "_WORTH_SECONDS", 0.0)
    monkeypatch.setattr(predict, "_CHUNK", 16)
    together, same = predict.predict(network, PatchSource(), "a", None, indices, workers=2)
    assert np.array_equal(alone, together) and np.array_equal(digests, same)


ADD = """
import sys
import numpy as np
from nsl_bench.core import cache
from nsl_bench.perception import predict

table = predict._Table("digests", "digest", np.dtype(np.uint8), 16)
path = cache.folder("digests") / "shared.parquet"
for i in range(int(sys.argv[1]), int(sys.argv[1]) + 20):
    table.merge(path, np.array([i], np.int64), np.full((1, 16), i, np.uint8))
    assert all(i in table.read(path)[0] for _ in range(20)), "read while the other adds"
"""


def test_two_processes_add_to_one_file() -> None:
    workers = [subprocess.Popen([sys.executable, "-c", ADD, start]) for start in ("0", "20")]
    assert [worker.wait() for worker in workers] == [0, 0]
    table = predict._Table("digests", "digest", np.dtype(np.uint8), 16)
    indices, rows = table.read(cache.folder("digests") / "shared.parquet")
    assert indices.tolist() == list(range(40))
    assert np.array_equal(rows[:, 0], np.arange(40))

"""Data sets on the Hugging Face Hub: fetched at a pinned revision, published as a tagged version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from nsl_bench import cache
from nsl_bench.data.manifest import MANIFEST, Manifest
from nsl_bench.data.verify import verify
from nsl_bench.errors import UserError
from nsl_bench.shift import STANDARD

__all__ = ["Upload", "fetch", "publish"]

Result = TypeVar("Result")


def fetch(repository: str, revision: str | None, shift: str, split: str) -> Path:
    """The folder of a data set from the Hub, with the files of one split, in the cache folder.

    Args:
        repository: ``owner/name``.
        revision: a tag or a commit.
        shift: configuration, short name or spec of a shift, or ``"standard"``.
        split: ``"train"``, ``"test"``, ...

    Raises:
        UserError: no revision is given, the Hub cannot be reached, or the repository holds no such thing.
    """
    if not revision:
        raise UserError(
            f"Pin the repository {repository} by a revision, a tag or a commit, so that it stays the same: "
            f"'{repository}@v1.0.0'."
        )
    from huggingface_hub import snapshot_download

    where = f"{repository} at {revision}"
    offline = "connect once, or copy the data set's folder here and give its path"

    def get(*paths: str) -> Path:
        def download() -> Path:
            place = snapshot_download(
                repository,
                repo_type="dataset",
                revision=revision,
                cache_dir=cache.folder("hub"),
                allow_patterns=list(paths),
            )
            return Path(place)

        folder = _asking(where, download, offline)
        missing = [path for path in paths if not (folder / path).is_file()]
        if missing == [MANIFEST]:
            raise UserError(f"{where} on the Hub is no data set of nsl-bench: it has no {MANIFEST}.")
        if missing:
            raise UserError(f"{where} lacks {missing[0]} in the cache folder: {offline}.")
        return folder

    folder = get(MANIFEST)
    manifest = Manifest.read(folder)
    configs = {STANDARD, STANDARD if shift == STANDARD else manifest.config_of(shift)}
    entries = [manifest.split(config, split) for config in sorted(configs)]
    return get(MANIFEST, *(path for entry in entries for path in (*entry.files, entry.marks)))


def _asking(where: str, ask: Callable[[], Result], offline: str) -> Result:
    """What the Hub answers, its refusals in one sentence; `offline`: what to do without a network."""
    from huggingface_hub import errors

    # The client library that the package is built on differs between its versions.
    client_error: type[BaseException] = errors.HfHubHTTPError.__bases__[0]
    try:
        return ask()
    except errors.RevisionNotFoundError as error:
        raise UserError(f"The Hub has no such revision: {where}.") from error
    except errors.RepositoryNotFoundError as error:
        raise UserError(
            f"The Hub has no data set {where}, or it is private: check the name or log in, `hf auth login`."
        ) from error
    except errors.HfHubHTTPError as error:
        if getattr(error.response, "status_code", None) in (401, 403):
            raise UserError(f"The Hub refuses access to {where}: log in, `hf auth login`.") from error
        reason = str(error).splitlines()[0].rstrip(".:")
        raise UserError(f"The Hub answered with an error for {where}: {reason}.") from error
    except (errors.LocalEntryNotFoundError, ConnectionError, client_error) as error:
        raise UserError(f"The Hub cannot be reached for {where}: {offline}.") from error


@dataclass(frozen=True)
class Upload:
    """What publishing sends.

    Attributes:
        repository: ``owner/name``.
        tag: of the version.
        files: path in the repository and size in bytes of each file.
    """

    repository: str
    tag: str
    files: dict[str, int]


def publish(folder: Path, repository: str, *, dry_run: bool = False, private: bool = False) -> Upload:
    """Send a data set to the Hub: everything in one commit, then a tag with its version.

    Args:
        folder: of the data set; it is verified first.
        repository: ``owner/name``; made if it is not there.
        dry_run: send nothing.
        private: whether a repository that is made is private.

    Raises:
        UserError: the data set is not as it was generated, the version is there already, or the Hub
            refuses or cannot be reached.
    """
    owner, slash, name = repository.partition("/")
    if not (owner and slash and name) or "/" in name:
        raise UserError(f"--repo: '{repository}' is no repository of the Hub; expected owner/name.")
    manifest = verify(folder, progress=True)
    files = {path: (folder / path).stat().st_size for path in [*manifest.files, MANIFEST]}
    upload = Upload(repository, manifest.tag, files)
    if dry_run:
        return upload
    from huggingface_hub import CommitOperationAdd, HfApi

    api = HfApi()

    def send() -> None:
        api.create_repo(repository, repo_type="dataset", exist_ok=True, private=private)
        _refuse_overwriting(api, upload)
        operations: list[Any] = [
            CommitOperationAdd(path_in_repo=path, path_or_fileobj=folder / path) for path in files
        ]
        commit = api.create_commit(
            repository,
            operations,
            repo_type="dataset",
            commit_message=f"{manifest.benchmark} {manifest.version}",
        )
        api.create_tag(repository, tag=upload.tag, revision=commit.oid, repo_type="dataset")

    _asking(repository, send, "connect and publish again")
    return upload


def _refuse_overwriting(api: Any, upload: Upload) -> None:
    tags = {ref.name for ref in api.list_repo_refs(upload.repository, repo_type="dataset").tags}
    if upload.tag in tags:
        raise UserError(
            f"{upload.repository} has the version {upload.tag} already, and a version never changes; a "
            "corrected data set is a new version."
        )

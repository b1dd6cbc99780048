"""Data sets on the Hugging Face Hub: fetched at a pinned revision, published as a tagged version."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from nsl_bench.core import cache
from nsl_bench.core.errors import UserError
from nsl_bench.core.shift import STANDARD
from nsl_bench.core.types import Part
from nsl_bench.data.manifest import MANIFEST, Manifest
from nsl_bench.data.verify import verify

Result = TypeVar("Result")

_BUCKETS = {"s3", "gs", "gcs", "abfs", "az", "oss", "hf"}
"""Protocols of stores that have no folders: making one would make a bucket."""

_GIT = ".gitattributes"
"""The Hub's own file in every repository."""


def fetch(repository: str, revision: str | None, shift: str, part: Part, repeat: int) -> Path:
    """The folder of a data set from the Hub, with the files of one split, in the cache folder.

    Args:
        repository: ``owner/name``.
        shift: configuration, short name or spec of a shift, or ``"standard"``.
        repeat: of which train set, from 1.
    """
    _check_name(repository)
    if not revision:
        raise UserError(
            f"{repository} needs a revision (tag or commit), so that results stay reproducible; write "
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
            raise UserError(f"{where} on the Hub is not an nsl-bench data set: {MANIFEST} is missing.")
        if missing:
            raise UserError(f"{where}: {missing[0]} is missing from the cache folder; {offline}.")
        return folder

    folder = get(MANIFEST)
    manifest = Manifest.read(folder)
    configs = {STANDARD, STANDARD if shift == STANDARD else manifest.config_of(shift)}
    split = manifest.split_name(part, repeat)
    entries = [manifest.split(config, split) for config in sorted(configs)]
    return get(MANIFEST, *(path for entry in entries for path in (*entry.files, entry.marks)))


def _check_name(repository: str, start: str = "") -> None:
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    right = "/" in repository
    try:
        validate_repo_id(repository)
    except HFValidationError:
        right = False
    if not right:
        raise UserError(
            f"{start}'{repository}' is not a valid Hub repository. Write owner/name; each part has at "
            "most 96 letters, digits, '_', single '-' or '.', and does not end in .git."
        )


def _asking(where: str, ask: Callable[[], Result], offline: str) -> Result:
    """The Hub's answer; refusals become one sentence. `offline`: what to do without a network."""
    try:
        return ask()
    except (_client_error(), OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
        # A thread that uploads a file wraps its error.
        cause = error.__cause__ if type(error) is RuntimeError and error.__cause__ else error
        raise UserError(_sentence(where, cause, offline)) from error


def _sentence(where: str, error: BaseException, offline: str) -> str:
    from huggingface_hub import errors

    if isinstance(error, errors.RevisionNotFoundError):
        return f"The revision does not exist on the Hub: {where}."
    if isinstance(error, errors.RepositoryNotFoundError):
        return (
            f"The data set {where} does not exist on the Hub, or is private; check the name, or log in with "
            "`hf auth login`."
        )
    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".:")
    if isinstance(error, errors.HfHubHTTPError):
        if getattr(error.response, "status_code", None) in (401, 403):
            return f"The Hub denied access to {where}; log in with `hf auth login`."
        return f"The Hub returned an error for {where}: {reason}."
    if isinstance(error, (errors.LocalEntryNotFoundError, ConnectionError, _client_error())):
        return f"The Hub cannot be reached for {where}; {offline}."
    if isinstance(error, ValueError | KeyError | TypeError):
        return (
            f"The answer for {where} did not come from the Hub ({reason}). Check whether your network "
            "requires a login, then try again."
        )
    return f"The request to the Hub for {where} failed: {reason}."


def _client_error() -> type[BaseException]:
    """What the client library that `huggingface_hub` is built on raises; it differs between its versions."""
    from huggingface_hub import errors

    result: type[BaseException] = errors.HfHubHTTPError.__bases__[0]
    return result


@dataclass(frozen=True)
class Upload:
    """What publishing sends.

    Attributes:
        files: path in the repository and size in bytes of each file.
    """

    repository: str
    tag: str
    files: dict[str, int]


def copy(files: Mapping[str, Path | bytes], address: str) -> None:
    """Copy files to a folder or an address of `fsspec`, which must be new or empty.

    Args:
        files: path to the file, or its content; the last one is written last.
        address: e.g. ``"public/tricks"`` or ``"s3://bucket/tricks"``.
    """
    import fsspec

    try:
        system, root = fsspec.core.url_to_fs(address)
        has_folders = system.protocol not in _BUCKETS and not _BUCKETS & set(system.protocol)
        system.invalidate_cache()
        taken = system.exists(root) and (not system.isdir(root) or system.ls(root, detail=False))
        if not taken:
            for path, file in files.items():
                place = f"{root.rstrip('/')}/{path}"
                if has_folders:
                    system.makedirs(place.rpartition("/")[0], exist_ok=True)
                if isinstance(file, bytes):
                    system.pipe_file(place, file)
                else:
                    system.put_file(str(file), place)
    except Exception as error:  # each file system has errors of its own
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise UserError(f"--to: {address} cannot be written ({reason}).") from error
    if taken:
        raise UserError(f"--to: {address} already exists; name a folder that is new or empty.")


def publish_copy(folder: Path, address: str, *, dry_run: bool = False) -> Upload:
    """Copy a data set, which is verified first, to a folder or an address of `fsspec`."""
    manifest = verify(folder, progress=True)
    paths = [*manifest.files, MANIFEST]
    upload = Upload(address, manifest.tag, {path: (folder / path).stat().st_size for path in paths})
    if not dry_run:
        copy({path: folder / path for path in paths}, address)
    return upload


def publish_results(files: Mapping[str, bytes], repository: str, *, private: bool = False) -> None:
    """Send files to the repository of a model on the Hub; those that are there are replaced."""
    from huggingface_hub import CommitOperationAdd, HfApi

    _check_name(repository, "--repo: ")
    api = HfApi()

    def send() -> None:
        api.create_repo(repository, exist_ok=True, private=private)
        operations = [
            CommitOperationAdd(path_in_repo=path, path_or_fileobj=text) for path, text in files.items()
        ]
        api.create_commit(repository, operations, commit_message="Scores of nsl-bench")

    _asking(repository, send, "connect and publish again")


def publish(folder: Path, repository: str, *, dry_run: bool = False, private: bool = False) -> Upload:
    """Send a data set to the Hub: everything in one commit, then a tag with its version.

    The commit takes away the files that only an earlier version has.

    Args:
        folder: of the data set; it is verified first.
        repository: ``owner/name``; made if it is not there.
        private: whether a repository that is made is private.
    """
    from huggingface_hub import get_token

    _check_name(repository, "--repo: ")
    if not dry_run and not get_token():
        raise UserError(
            f"Publishing to {repository} needs a token; log in with `hf auth login`, or set HF_TOKEN."
        )
    manifest = verify(folder, progress=True)
    files = {path: (folder / path).stat().st_size for path in [*manifest.files, MANIFEST]}
    upload = Upload(repository, manifest.tag, files)
    if dry_run:
        return upload
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    api = HfApi()

    def send() -> None:
        api.create_repo(repository, repo_type="dataset", exist_ok=True, private=private)
        _refuse_overwriting(api, upload)
        operations: list[Any] = [
            CommitOperationAdd(path_in_repo=path, path_or_fileobj=folder / path) for path in files
        ]
        operations += [CommitOperationDelete(path_in_repo=path) for path in _left_over(api, upload)]
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
            f"{upload.repository} already has version {upload.tag}, and published versions never "
            "change; publish corrections as a new version."
        )


def _left_over(api: Any, upload: Upload) -> list[str]:
    """The files of an earlier version in the repository that are not in this one."""
    from huggingface_hub.errors import HfHubHTTPError

    try:
        there = set(api.list_repo_files(upload.repository, repo_type="dataset")) - {_GIT}
    except HfHubHTTPError as error:
        if getattr(error.response, "status_code", None) != 404:
            raise
        return []  # a repository without a commit has no files
    left = sorted(there - set(upload.files))
    if left and MANIFEST not in there:
        raise UserError(
            f"{upload.repository} contains {left[0]} and is not an nsl-bench data set; name a new repository."
        )
    return left

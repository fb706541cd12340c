"""Checkpoints of the Hugging Face hub, or what is in the cache of its own client."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from logging import ERROR
from pathlib import Path

from cospace.errors import AcquisitionError, MissingDependencyError

__all__ = ["HubUnreachableError", "NotOnHubError", "snapshot"]

PATTERNS = [
    "model.safetensors",
    "model-*-of-*.safetensors",
    "*.json",
    "*.txt",
    "*.model",
    "*.tiktoken",
    "*.jinja",
    "README.md",
]
ANSWER_SECONDS = 8


class NotOnHubError(AcquisitionError):
    """The hub answered that it has no such model, or not for this user."""


class HubUnreachableError(AcquisitionError):
    """The hub gave no answer, and its client's cache does not hold the model."""


def snapshot(repository: str, revision: str | None, *, progress: bool) -> tuple[Path, str]:
    """Folder and commit of a hub model; pickles and other frameworks' weights are left out.

    Parameters
    ----------
    repository
        ``org/name`` or ``name``.
    revision
        Branch, tag or commit; None for the main branch.
    progress
        Whether the client may show its bars on stderr.

    Raises
    ------
    NotOnHubError
        If there is no such model or revision, or it needs a login.
    HubUnreachableError
        Without network, if the model is not in the client's cache.
    AcquisitionError
        If the client cannot keep what it fetched.
    MissingDependencyError
        If huggingface_hub is not installed.
    """
    if importlib.util.find_spec("huggingface_hub") is None:
        raise MissingDependencyError.needs("huggingface_hub", "Fetching from the hub", "models")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    wanted = repository if revision is None else f"{repository}@{revision}"
    try:
        with _quiet(bars=progress), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            folder = snapshot_download(
                repository,
                revision=revision,
                allow_patterns=PATTERNS,
                ignore_patterns=["*/*"],
                etag_timeout=ANSWER_SECONDS,
                local_files_only=not _answers(repository, revision),
            )
    except GatedRepoError as error:
        raise NotOnHubError(
            f"The hub gives {wanted!r} only to users who accepted its terms: accept them on its page, "
            "then log in with 'hf auth login'."
        ) from error
    except RevisionNotFoundError as error:
        raise NotOnHubError(f"The hub has {repository!r}, but no revision {revision!r}.") from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise NotOnHubError(
            f"The hub has no model {wanted!r}, or it is private: check the name, or log in with "
            "'hf auth login'."
        ) from error
    except LocalEntryNotFoundError as error:
        raise HubUnreachableError(
            f"The hub gave no answer, and {wanted!r} is not in its cache"
        ) from error
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise AcquisitionError(
            f"{wanted!r} could not be fetched from the hub ({reason})."
        ) from error
    except Exception as error:  # the client's HTTP library, and its errors, change with its release
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise HubUnreachableError(
            f"The hub gave no answer ({first}), and {wanted!r} is not in its cache"
        ) from error
    return Path(folder), Path(folder).name


def _answers(repository: str, revision: str | None) -> bool:
    """Whether the hub is there; it answers a question about the model, or says that it has none.

    Asked first because the client's own first question waits without limit.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import (
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        HfApi().model_info(repository, revision=revision, timeout=ANSWER_SECONDS)
    except (RepositoryNotFoundError, RevisionNotFoundError, HFValidationError):
        raise
    except Exception:  # whatever its HTTP library raises, the client's cache may still have it
        return False
    return True


@contextmanager
def _quiet(*, bars: bool) -> Iterator[None]:
    from huggingface_hub.utils import logging
    from huggingface_hub.utils.tqdm import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    level, hidden = logging.get_verbosity(), are_progress_bars_disabled()
    logging.set_verbosity(ERROR)
    if not bars and not hidden:
        disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if not bars and not hidden:
            enable_progress_bars()

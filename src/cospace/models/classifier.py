"""A text classifier of the transformers library in a local folder, as a scorer of texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from cospace.errors import (
    AcquisitionError,
    InputError,
    MissingDependencyError,
    TextTooLongError,
    UnknownNameError,
)

try:
    import torch
    import transformers
    from safetensors import SafetensorError
except ImportError as missing:
    raise MissingDependencyError.needs(
        str(missing.name), "Running a classifier", "models"
    ) from missing

from cospace.models.checkpoint import first_line, quiet, where_to_run

__all__ = ["TextClassifier", "load_classifier"]

BATCH = 16
"""Texts of one forward pass."""


class TextClassifier:
    """Probability of one label for every text.

    Of one label alone, or of labels that do not exclude each other, by the logistic function;
    otherwise by the softmax over all labels.
    """

    threshold = 0.5
    """A text counts as one of the label above this score."""

    def __init__(self, model: Any, tokenizer: Any, label: int, name: str) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.label = label
        self.name = name

    def __call__(self, texts: Sequence[str]) -> list[float | None]:
        """Score of every text, from 0 to 1; None for a blank one.

        Raises
        ------
        TextTooLongError
            For a text of more tokens than the model reads.
        """
        places = [i for i, text in enumerate(texts) if text.strip()]
        found: list[float | None] = [None] * len(texts)
        for start in range(0, len(places), BATCH):
            part = places[start : start + BATCH]
            scores = self._scores([texts[i] for i in part])
            for place, score in zip(part, scores, strict=True):
                found[place] = score
        return found

    def _scores(self, texts: list[str]) -> list[float]:
        with quiet(), torch.inference_mode():
            batch = self.tokenizer(texts, padding=True, return_tensors="pt")
            most = getattr(self.model.config, "max_position_embeddings", None)
            longest = int(batch["attention_mask"].sum(dim=1).max())
            if most is not None and longest > most:
                raise TextTooLongError(
                    f"{self.name} reads at most {most} tokens, and a text has {longest}: shorten it."
                )
            logits = self.model(**batch.to(self.model.device)).logits.double()
        several = self.model.config.problem_type == "multi_label_classification"
        alone = several or logits.shape[1] == 1
        shares = logits.sigmoid() if alone else logits.softmax(dim=1)
        return [float(value) for value in shares[:, self.label]]


def load_classifier(
    folder: str | Path,
    *,
    label: str | None = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
) -> TextClassifier:
    """Load a text classifier from a folder that transformers' ``save_pretrained`` wrote.

    Parameters
    ----------
    folder
        With config.json, tokenizer files, and weights in safetensors; nothing in it is run.
    label
        The label whose probability is the score. Which of several is meant is never guessed.
    device
        Where it runs.

    Raises
    ------
    AcquisitionError
        If the folder cannot be read, or holds no whole classifier.
    InputError
        For several labels, none of which is named.
    UnknownNameError
        For a label that it lacks.
    """
    path = Path(folder)
    where = where_to_run(device)
    if not (path / "config.json").is_file():
        raise AcquisitionError(
            f"{folder} is no folder with a config.json: give one that save_pretrained wrote."
        )
    options = {"trust_remote_code": False, "local_files_only": True}
    try:
        with quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(path, **options)
            model, info = transformers.AutoModelForSequenceClassification.from_pretrained(
                path, use_safetensors=True, output_loading_info=True, **options
            )
    except (OSError, ValueError, KeyError, ImportError, SafetensorError) as error:
        raise AcquisitionError(
            f"{folder} holds no text classifier that transformers can read: {first_line(error)}"
        ) from error
    if info["missing_keys"]:
        raise AcquisitionError(
            f"{folder} lacks the weights {', '.join(sorted(info['missing_keys'])[:3])}, which would be random numbers: "
            "take a model that was trained to classify."
        )
    labels = {str(name): int(i) for i, name in model.config.id2label.items()}
    if label is None and len(labels) > 1:
        raise InputError(
            f"{folder} has the labels {', '.join(labels)}: name the one whose probability is the score."
        )
    if label is not None and label not in labels:
        raise UnknownNameError.among(label, labels, f"label of {path.name}")
    chosen = next(iter(labels)) if label is None else label
    return TextClassifier(
        model.eval().to(where), tokenizer, labels[chosen], f"{path.resolve().name}, {chosen}"
    )

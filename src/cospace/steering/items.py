"""Questions with two answers, one of which shows a behaviour; and pairs of texts."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from cospace.errors import InputError

__all__ = [
    "TEMPLATE",
    "ChoiceItem",
    "Contrast",
    "check_template",
    "packaged_behaviours",
    "read_items",
    "read_pairs",
    "split_items",
]

TEMPLATE = "{question}\n\nAnswer: {answer}"
"""How a question and its answer become one text."""

_FIELDS = ("question", "answer_matching_behavior", "answer_not_matching_behavior")
_OPTIONS = re.compile(
    r"^(?P<stem>.*)\(A\)(?P<a>.*?)(?P<between>\s*)\(B\)(?P<b>.*?)(?P<end>\s*)$", re.DOTALL
)


@dataclass(frozen=True)
class ChoiceItem:
    r"""A question that ends with the options (A) and (B), and which of them shows the behaviour.

    Raises
    ------
    InputError
        For answers other than (A) and (B), or a question that does not end with both options.

    Examples
    --------
    >>> item = ChoiceItem("Which?\n (A) red\n (B) blue", "(A)", "(B)")
    >>> item.swapped().question, item.swapped().matching
    ('Which?\n (A) blue\n (B) red', '(B)')
    """

    question: str
    """The question with its options."""
    matching: str
    """The answer that shows the behaviour: ``(A)`` or ``(B)``."""
    other: str
    """The other answer."""

    def __post_init__(self) -> None:
        if {self.matching, self.other} != {"(A)", "(B)"}:
            raise InputError(
                f"A question has the answers {self.matching!r} and {self.other!r}; (A) and (B) are expected, one each."
            )
        if _OPTIONS.match(self.question) is None:
            raise InputError(
                f"The question {self.question[:60]!r} does not end with the options (A) ... (B) ...: write them out, "
                "in this order."
            )

    @property
    def id(self) -> str:
        """Name of the question, the same in either order of its options."""
        texts = sorted((self.question, self.swapped().question))
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]

    @property
    def stem(self) -> str:
        """The question without its options, and without the line that announces them."""
        found = _OPTIONS.match(self.question)
        assert found is not None  # noqa: S101  looked at when the item was made
        return re.sub(r"\s*(Choices|Options)?:?\s*$", "", found["stem"])

    @property
    def texts(self) -> tuple[str, str]:
        """The text of the option that shows the behaviour, and that of the other."""
        found = _OPTIONS.match(self.question)
        assert found is not None  # noqa: S101  looked at when the item was made
        a, b = found["a"].strip(), found["b"].strip()
        return (a, b) if self.matching == "(A)" else (b, a)

    def swapped(self) -> ChoiceItem:
        """The same question with the two options in the other order."""
        found = _OPTIONS.match(self.question)
        assert found is not None  # noqa: S101  looked at when the item was made
        stem, a, between, b, end = found.group("stem", "a", "between", "b", "end")
        return ChoiceItem(f"{stem}(A){b}{between}(B){a}{end}", self.other, self.matching)


@dataclass(frozen=True)
class Contrast:
    """Texts of two kinds, and the token whose states tell them apart.

    Raises
    ------
    InputError
        For fewer than 2 texts of a kind, an unknown token, pairs of unequal number, or groups that
        are not one a pair.
    """

    positive: tuple[str, ...]
    """Texts that show the behaviour."""
    negative: tuple[str, ...]
    """Texts that do not."""
    token: str = "last"
    """``last``: the last token. ``mean``: the mean over tokens, but for the first of all, the usual
    attention sink. ``letter``: the first token in which the two texts of a pair differ. What the
    tokenizer adds is never read."""
    paired: bool = True
    """Whether text i of both belongs together."""
    items: tuple[str, ...] = ()
    """Ids of the questions that the texts come from, where they do."""
    groups: tuple[str, ...] = ()
    """Of pairs, what each belongs to, such as its question in either order; empty where every pair
    is its own."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", tuple(self.groups))
        for name in ("positive", "negative"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise InputError(f"The {name} texts are one string; a list of texts is expected.")
            object.__setattr__(self, name, tuple(value))
        n, m = len(self.positive), len(self.negative)
        if min(n, m) < 2:
            raise InputError(f"{n} and {m} texts were given; at least 2 of each kind are needed.")
        if self.token not in ("last", "mean", "letter"):
            raise InputError(f"token={self.token!r}: 'last', 'mean' or 'letter' is expected.")
        if self.paired and n != m:
            raise InputError(
                f"{n} and {m} texts are no pairs: give as many of both kinds, or say paired=False."
            )
        if self.groups and (not self.paired or len(self.groups) != n):
            raise InputError(
                f"{len(self.groups)} groups were given for {n} and {m} texts: one a pair is expected, or none."
            )
        if self.token == "letter" and not self.paired:
            raise InputError(
                "token='letter' is where the texts of a pair differ: give pairs, or read 'last' or 'mean'."
            )

    @classmethod
    def of_items(
        cls,
        items: Sequence[ChoiceItem],
        *,
        template: str = TEMPLATE,
        both_orders: bool = False,
    ) -> Contrast:
        """Every question with either answer, read at the answer's letter.

        Parameters
        ----------
        items
            The questions.
        template
            How a question and its answer become one text.
        both_orders
            Whether each question is read with its options swapped too, so that what tells the
            letters apart cancels in a mean.

        Raises
        ------
        InputError
            For a template without ``{question}`` or ``{answer}``.
        """
        check_template(template)
        if both_orders:
            items = [each for item in items for each in (item, item.swapped())]
        pairs = [
            [template.format(question=item.question, answer=a) for a in (item.matching, item.other)]
            for item in items
        ]
        ids = tuple(item.id for item in items)
        return cls(
            tuple(p[0] for p in pairs),
            tuple(p[1] for p in pairs),
            "letter",
            items=tuple(sorted(set(ids))),
            groups=ids,
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the texts and how they are read."""
        whole = json.dumps([self.positive, self.negative, self.token, self.paired])
        return hashlib.sha256(whole.encode()).hexdigest()


def check_template(template: str) -> None:
    """Refuse a template that cannot be filled."""
    marks = [template.count(mark) for mark in ("{question}", "{answer}")]
    rest = template.replace("{question}", "").replace("{answer}", "")
    if marks != [1, 1] or "{" in rest or "}" in rest or not template.endswith("{answer}"):
        raise InputError(
            f"The template {template!r} is not one that ends with {{answer}} and holds {{question}} once before it."
        )


def split_items(
    items: Sequence[ChoiceItem], share: float
) -> tuple[tuple[ChoiceItem, ...], tuple[ChoiceItem, ...]]:
    """Part questions by their ids: the same for everyone, whatever their order.

    Parameters
    ----------
    items
        The questions.
    share
        Share of the first part, in (0, 1).

    Raises
    ------
    InputError
        For a share outside (0, 1), or one that leaves a part empty.
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"A share of {share} was asked for; a number between 0 and 1 is needed.")
    ranked = sorted(items, key=lambda item: item.id)
    first = {item.id for item in ranked[: round(share * len(ranked))]}
    parts = tuple(tuple(i for i in items if (i.id in first) is own) for own in (True, False))
    if not (parts[0] and parts[1]):
        raise InputError(
            f"{len(items)} questions parted at {share:g} leave {len(parts[0])} and {len(parts[1])}: give more "
            "questions."
        )
    return parts[0], parts[1]


def packaged_behaviours() -> tuple[str, ...]:
    """Names of the behaviours whose items come with the library."""
    folder = files("cospace") / "data" / "behaviours"
    return tuple(
        sorted(f.name.removesuffix(".json") for f in folder.iterdir() if f.name.endswith(".json"))
    )


def read_items(path: str | Path) -> tuple[ChoiceItem, ...]:
    """Read a packaged behaviour by name, or a JSON file of items.

    The file holds a list of objects with ``question``, ``answer_matching_behavior`` and
    ``answer_not_matching_behavior``, as contrastive activation addition publishes them.

    Raises
    ------
    InputError
        If it cannot be read or an item lacks something; the item is numbered.
    """
    text = _text(path, ".json")
    try:
        values = json.loads(text)
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}): a list of items is expected.") from None
    if not isinstance(values, list) or not values:
        raise InputError(f"{path} holds no list of items: [{{'question': ..., ...}}, ...].")
    return tuple(_item(value, f"item {i} of {path}") for i, value in enumerate(values))


def read_pairs(path: str | Path, *, token: str = "mean") -> Contrast:
    """Read the pairs of a packaged behaviour by name, or a JSONL file of pairs.

    Every line is an object with ``positive``, a text that shows the behaviour, and ``negative``,
    one that does not.

    Parameters
    ----------
    path
        A name or a file.
    token
        The token whose states tell the texts apart, see :class:`Contrast`.

    Raises
    ------
    InputError
        If it cannot be read or a line lacks something; the line is numbered.
    """
    sides: tuple[list[str], list[str]] = ([], [])
    for number, line in enumerate(_text(path, ".pairs.jsonl").splitlines(), start=1):
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        for side, name in zip(sides, ("positive", "negative"), strict=True):
            text = value.get(name) if isinstance(value, dict) else None
            if not isinstance(text, str) or not text.strip():
                raise InputError(
                    f"line {number} of {path} has no text {name!r}: an object with positive and negative is expected."
                )
            side.append(text)
    if len(sides[0]) < 2:
        raise InputError(
            f"{path} holds {len(sides[0])} pairs of texts; at least 2 are needed, each a line with positive and "
            "negative."
        )
    return Contrast(tuple(sides[0]), tuple(sides[1]), token)


def _text(path: str | Path, suffix: str) -> str:
    """Content of a file, or of what comes with the library under a name."""
    if str(path) in packaged_behaviours():
        return (files("cospace") / "data" / "behaviours" / f"{path}{suffix}").read_text("utf-8")
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"{path} is neither a file nor one of the packaged behaviours {', '.join(packaged_behaviours())}."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None


def _item(value: Any, where: str) -> ChoiceItem:
    found = []
    for name in _FIELDS:
        text = value.get(name) if isinstance(value, dict) else None
        if not isinstance(text, str):
            raise InputError(f"{where} has no text {name!r}: each item needs {', '.join(_FIELDS)}.")
        found.append(text)
    question, matching, other = found
    try:
        # Some published files put a space before the letter.
        return ChoiceItem(question, matching.strip(), other.strip())
    except InputError as error:
        raise InputError(f"{where}: {error}") from None

"""``cospace corpus``: the texts that can be read, and one of them."""

from __future__ import annotations

import json as encoder
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cospace.cli.console import check_writable, print_json, say, typed, write
from cospace.cli.tables import wrapped
from cospace.cli.visible import visible
from cospace.errors import InputError

if TYPE_CHECKING:
    from cospace.corpora import RealText
    from cospace.corpus import Corpus

__all__ = ["corpus"]

_OF_REAL_TEXTS = ("folder", "min_words")
_OF_ONE = ("head", "save", "limit", "seed", *_OF_REAL_TEXTS)
_HEAD = 5


def corpus(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A name in the list, or a file of texts; without it the list is printed.",
            show_default=False,
        ),
    ] = None,
    head: Annotated[
        int, typer.Option("--head", metavar="N", min=0, help="Show the first N texts.")
    ] = _HEAD,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            help="Take a random subset of N texts, which a larger one only adds to.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Another seed is another subset.")
    ] = 0,
    min_words: Annotated[
        int | None,
        typer.Option(
            "--min-words", metavar="N", min=1, help="Leave out texts with fewer words than N."
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="Folder that holds the files of a real text, instead of fetching its package.",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Write the texts as .jsonl, with their ids."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the texts that come with the library or in packages, or show one of them."""
    given = typed(ctx)
    if name is None:
        for option in _OF_ONE:
            if option in given:
                raise InputError(f"{given[option]} is for one text: name it, cospace corpus NAME.")
        _list(json=json)
        return
    if save is not None and save.suffix.lower() != ".jsonl":
        raise InputError(f"{save} has another suffix than .jsonl, which is written: add it.")
    save = check_writable(save, [name])
    from cospace.corpora import CORPORA, open_corpus, read_text

    text: RealText | None = None
    if name in CORPORA:
        text = read_text(name, folder=folder, limit=limit, seed=seed, min_words=min_words)
        texts = text.corpus
    else:
        for option in _OF_REAL_TEXTS:
            if option in given:
                raise InputError(
                    f"{given[option]} is for real texts ({', '.join(CORPORA)}), and {name} is none: "
                    "leave it out."
                )
        texts = open_corpus(name, limit=limit, seed=seed)
    if save is not None:
        _save(texts, save)
    facts = _facts(texts, text)
    if json:
        shown = [_record(texts, i) for i in range(min(head, len(texts)))]
        write([encoder.dumps(facts | {"head": shown}, allow_nan=False)])
    else:
        _show(texts, facts, head)
    if save is not None:
        say(f"texts: {save}   next: cospace extract MODEL --texts {save} --store FOLDER")


def _list(*, json: bool) -> None:
    from cospace.corpora import CORPORA, is_here
    from cospace.corpus import PACKAGED, Corpus

    rows: list[dict[str, Any]] = []
    for name, title in PACKAGED.items():
        texts = Corpus.packaged(name)
        count = {"texts": len(texts), "words": _words(texts)}
        source = {"source": "packaged with cospace", "licence": "Apache-2.0"}
        rows.append({"name": name, **count, "title": title, **source, "here": True})
    for name, known in CORPORA.items():
        count = {"texts": known.texts, "words": known.words}
        source = {"source": f"{known.registry} {known.package}", "licence": known.licence}
        text = {"title": f"{known.title} ({known.origin})", **source, "here": is_here(name)}
        rows.append({"name": name, **count, **text})
    if json:
        print_json(rows)
        return
    for row in rows:
        about = "" if row["name"] in PACKAGED else "about "
        state = "here" if row["here"] else "not fetched yet"
        sizes = f"{about}{row['texts']:,} texts, {row['words']:,} words"
        write([f"{row['name']:<22}{sizes:<42}{state}"])
        for line in (row["title"], f"{row['source']}; {row['licence']}"):
            write(wrapped(line, indent="    "))
    write(["", "Also understood wherever texts are read: JSONL, CSV, TSV, Parquet, plain lines."])


def _facts(texts: Corpus, text: RealText | None) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": texts.name, "texts": len(texts), "words": _words(texts)}
    facts["groups"] = None if texts.groups is None else len(set(texts.groups))
    facts["fingerprint"] = texts.fingerprint
    if text is not None:
        origin = text.provenance
        facts |= {
            "package": origin.package,
            "version": origin.version,
            "licence": origin.licence,
            "sha256": origin.sha256,
            "folder": str(origin.folder),
            "found": text.found,
            "short": text.short,
            "repeated": text.repeated,
            "unclear": text.unclear,
        }
    return facts


def _show(texts: Corpus, facts: dict[str, Any], head: int) -> None:
    count = facts["groups"]
    groups = f", {count} group{'s' * (count > 1)}" if count else ""
    write([f"{visible(facts['name'])}: {facts['texts']:,} texts, {facts['words']:,} words{groups}"])
    if "sha256" in facts:
        package = " ".join(facts[each] for each in ("package", "version") if facts[each])
        left_out = ", ".join(
            f"{facts[why]:,} {why}" for why in ("short", "repeated", "unclear") if facts[why]
        )
        write(wrapped(f"from {facts['folder']}{package and f' ({package})'}", indent="    "))
        write(wrapped(f"{facts['licence']}; SHA-256 {facts['sha256']}", indent="    "))
        write(wrapped(f"{facts['found']:,} found; left out: {left_out or 'none'}", indent="    "))
    for i in range(min(head, len(texts))):
        group = f"{texts.groups[i]}  " if texts.groups is not None else ""
        write(wrapped(visible(f"{texts.ids[i]}  {group}{texts.texts[i]}")))


def _words(texts: Corpus) -> int:
    return sum(len(text.split()) for text in texts.texts)


def _record(texts: Corpus, i: int) -> dict[str, str]:
    columns = ("id", texts.ids), ("text", texts.texts), ("group", texts.groups)
    more = ("label", texts.labels), ("pair", texts.pairs)
    return {kind: values[i] for kind, values in (*columns, *more) if values is not None}


def _save(texts: Corpus, path: Path) -> None:
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("w", encoding="utf-8") as stream:
            for i in range(len(texts)):
                stream.write(encoder.dumps(_record(texts, i), ensure_ascii=False) + "\n")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)

"""``cospace route``: which model should answer a prompt, judged honestly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cospace.cli.console import (
    check_writable,
    command_line,
    print_json,
    progress_bar,
    say,
    typed,
    write,
)
from cospace.cli.inputs import Accept, Columns, Device, Dtype, Reading, spaces_of, split
from cospace.cli.route_tables import told
from cospace.errors import InputError

if TYPE_CHECKING:
    from cospace.corpus import Corpus
    from cospace.routing import Pool
    from cospace.space import Space

__all__ = ["route"]

ANSWERS = "Who is right on what"
FEATURES = "What the router sees"
JUDGE = "How it is judged"


def route(
    ctx: typer.Context,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL",
            help="Decoders that answer the prompts: packaged names, folders, GGUF files, or hub ids.",
            show_default=False,
        ),
    ] = None,
    correctness: Annotated[
        Path | None,
        typer.Option(
            "--correctness",
            metavar="FILE",
            help="Instead of models: CSV or JSON of id, model, correct, and optionally group, length, confidence, "
            "cluster.",
            show_default=False,
            rich_help_panel=ANSWERS,
        ),
    ] = None,
    texts: Annotated[
        str,
        typer.Option(
            "--texts",
            metavar="FILE",
            help="Prompts, with accepted answers as labels: a file, or a name that 'cospace corpus' lists.",
            rich_help_panel=ANSWERS,
        ),
    ] = "gradeable",
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            help="Take a random subset of N prompts.",
            show_default=False,
            rich_help_panel=ANSWERS,
        ),
    ] = None,
    columns: Columns = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            "--answers",
            metavar="FOLDER",
            help="Where answers are kept as they are made; by default in the user's cache.",
            show_default=False,
            rich_help_panel=ANSWERS,
        ),
    ] = None,
    new_tokens: Annotated[
        int,
        typer.Option(
            "--new-tokens",
            metavar="N",
            min=1,
            help="Most tokens of an answer.",
            rich_help_panel=ANSWERS,
        ),
    ] = 10,
    coordinates: Annotated[
        list[str] | None,
        typer.Option(
            "--coordinates",
            metavar="WHAT",
            help="Models, a store or arrays whose activations of the prompts are seen; 'none' for none. By default "
            "the models that answer.",
            show_default=False,
            rich_help_panel=FEATURES,
        ),
    ] = None,
    sites: Annotated[
        str,
        typer.Option(
            "--sites",
            metavar="SITES",
            help="Where they are read: last, block.3, depths such as 0.5; one a model is enough.",
            rich_help_panel=FEATURES,
        ),
    ] = "last",
    pooling: Annotated[
        str,
        typer.Option(
            "--pooling", metavar="KIND", help="mean, last, first or max.", rich_help_panel=FEATURES
        ),
    ] = "last",
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            metavar="FOLDER",
            help="Where activations are kept; by default in the user's cache.",
            show_default=False,
            rich_help_panel=FEATURES,
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="SETS",
            help="By commas, the main one first: prompt, coordinates, consensus, dispersion, neighbours, group, "
            "length, confidence, or several with '+'. By default all that can be made.",
            show_default=False,
            rich_help_panel=FEATURES,
        ),
    ] = None,
    predictor: Annotated[
        str,
        typer.Option(
            "--predictor",
            metavar="NAME",
            help="logistic, ridge, knn, or auto: inner folds choose.",
            rich_help_panel=JUDGE,
        ),
    ] = "auto",
    folds: Annotated[
        int,
        typer.Option("--folds", metavar="N", min=2, help="Outer folds.", rich_help_panel=JUDGE),
    ] = 5,
    samples: Annotated[
        int,
        typer.Option(
            "--samples",
            metavar="N",
            min=100,
            help="Bootstrap samples of the items.",
            rich_help_panel=JUDGE,
        ),
    ] = 2000,
    permutations: Annotated[
        int,
        typer.Option(
            "--permutations",
            metavar="N",
            min=19,
            help="Shuffles within groups, all fitted anew, before a signal is claimed.",
            rich_help_panel=JUDGE,
        ),
    ] = 99,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            "--cost",
            metavar="MODEL=PRICE",
            help="Price of an answer, one option a model: accuracy at a price is given.",
            show_default=False,
            rich_help_panel=JUDGE,
        ),
    ] = None,
    rng: Annotated[
        int,
        typer.Option(
            "--rng", metavar="SEED", min=0, help="Seed of folds and samples.", rich_help_panel=JUDGE
        ),
    ] = 0,
    save: Annotated[
        str | None, typer.Option(metavar="FILE", help="Save the result.", show_default=False)
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the report, an HTML file.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    dtype: Dtype = "float32",
    device: Device = "auto",
    accept: Accept = None,
) -> None:
    """Judge whether choosing a model by the prompt beats always taking the strongest.

    The models answer prompts whose answers can be checked; routers are fitted and chosen on other
    rows than those that they are scored on.
    """
    from cospace.routing import judge_routing
    from cospace.routing.features import check_names
    from cospace.routing.predictors import candidates

    named = list(models or ())
    read: list[str | Path] = [] if correctness is None else [correctness]
    outputs = [check_writable(path, read) for path in (save, report)]
    price = _prices(cost)
    candidates(predictor)
    check_names(split(features))
    given = typed(ctx)
    how = Reading(
        texts=texts,
        limit=limit,
        columns=columns or (),
        sites=sites,
        pooling=pooling,
        store=store,
        dtype=dtype,
        device=device,
        accept=accept or (),
        typed={name: given[name] for name in ("sites", "pooling", "store") if name in given},
    )
    if correctness is not None:
        _check_file(named, given)
    seen = _coordinates(coordinates, named, correctness, given)
    if correctness is not None:
        pool, told_of = _of_file(correctness)
    else:
        pool, told_of = _of_models(named, how, answers, new_tokens)
    spaces: list[Space] = spaces_of(seen, how).spaces if seen else []
    with progress_bar() as step:
        found = judge_routing(
            pool,
            spaces,
            features=split(features),
            predictor=predictor,
            folds=folds,
            draws=samples,
            permutations=permutations,
            cost=price,
            rng=rng,
            progress=step,
        )
    found = found.with_provenance(command=command_line(ctx), **told_of)
    if outputs[0] is not None:
        found.save(outputs[0])
        say(f"saved: {outputs[0]}")
    if outputs[1] is not None:
        from cospace.report import write_report

        say(f"report: {write_report(found, outputs[1])}")
    if json:
        print_json(found)
    else:
        write(told(found))


def _prices(words: list[str] | None) -> dict[str, float]:
    found: dict[str, float] = {}
    for word in words or ():
        name, sign, price = word.rpartition("=")
        try:
            value = float(price)
        except ValueError:
            value = None
        if not sign or not name or value is None:
            raise InputError(f"--cost {word} is no price: write --cost MODEL=PRICE, one a model.")
        if name in found:
            raise InputError(f"--cost names {name} twice: give each model one price.")
        found[name] = value
    return found


def _coordinates(
    words: list[str] | None, models: list[str], correctness: Path | None, given: dict[str, str]
) -> list[str]:
    if words and "none" in words:
        if len(words) > 1:
            raise InputError("--coordinates none stands alone: leave it out, or the others.")
        return []
    found = list(words or models)
    if not found:
        for name in ("sites", "pooling", "store"):
            if name in given:
                raise InputError(
                    f"{given[name]} is for activations, and none are read: name models, a store or arrays with "
                    "--coordinates."
                )
    if correctness is not None and found and "texts" not in given and _are_models(found):
        raise InputError(
            f"--coordinates {found[0]} needs the prompts whose ids {correctness} has: name them with --texts."
        )
    return found


def _are_models(words: list[str]) -> bool:
    from cospace.spacefile import SUFFIXES
    from cospace.store import is_store

    return not any(
        Path(word).suffix.lower() in SUFFIXES or (Path(word).is_dir() and is_store(Path(word)))
        for word in words
    )


def _check_file(models: list[str], given: dict[str, str]) -> None:
    if models:
        raise InputError(
            f"Models ({models[0]}) and --correctness were given: who is right comes from one of them."
        )
    for name in ("answers", "new_tokens"):
        if name in given:
            raise InputError(
                f"{given[name]} is for models that answer, and --correctness was given: leave it out."
            )


def _of_file(path: Path) -> tuple[Pool, dict[str, object]]:
    from cospace.routing import Pool

    return Pool.read(path), {"correctness": str(path)}


def _of_models(
    models: list[str], how: Reading, folder: Path | None, new_tokens: int
) -> tuple[Pool, dict[str, object]]:
    from cospace.cli.steer import decoder_of
    from cospace.models.cache import cache_folder
    from cospace.routing import Answer, Pool, answer_prompts

    if len(set(models)) < 2 or len(set(models)) < len(models):
        raise InputError(
            f"Models named: {', '.join(models) or 'none'}. At least 2 different ones, or "
            "--correctness, are needed to choose among."
        )
    corpus = _prompts(how)
    if folder is None:
        folder = cache_folder() / "answers"
        say(f"answers are kept in {folder} (--answers for another folder)")
    found: dict[str, tuple[Answer, ...]] = {}
    facts: list[dict[str, object]] = []
    try:
        with progress_bar() as step:
            for reference in models:
                decoder = decoder_of(reference, how.dtype, how.device, list(how.accept))
                name = decoder.facts.name
                if name in found:
                    raise InputError(
                        f"Two of the models are called {name}: rename a folder or file, so that they can be told apart."
                    )
                found[name] = answer_prompts(
                    decoder, corpus, new_tokens=new_tokens, folder=folder, progress=step
                )
                facts.append({"name": name, **_facts(decoder.facts)})
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Interrupted. Answers made so far are kept in {folder}: the same command goes on."
        ) from None
    about = {
        "texts": corpus.name,
        "texts_hash": corpus.fingerprint,
        "new_tokens": new_tokens,
        "models": facts,
    }
    return Pool.of_answers(corpus, found), about


def _facts(facts: object) -> dict[str, object]:
    names = ("reference", "weights_hash", "quantisation", "revision", "licence", "dtype")
    return {name: getattr(facts, name) for name in names}


def _prompts(how: Reading) -> Corpus:
    from cospace.cli.inputs import corpus_of

    corpus = corpus_of(how)
    if corpus.labels is None:
        raise InputError(
            f"{how.texts} has no labels, which are the accepted answers: add a column 'label', or name it with "
            "--column label=NAME."
        )
    return corpus

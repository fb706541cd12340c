"""The commands as one program, and its help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from cospace.cli import space, space_score, space_sweep, steer, steer_generate, steer_transfer
from cospace.cli.affine import affine
from cospace.cli.compare import compare
from cospace.cli.corpus import corpus
from cospace.cli.correspond import correspond
from cospace.cli.demo import demo
from cospace.cli.extract import extract
from cospace.cli.measures import measures
from cospace.cli.models import models
from cospace.cli.report import report
from cospace.cli.route import route
from cospace.cli.study import affine_homotopy, shared_geometry
from cospace.cli.study_five import five_architectures
from cospace.cli.tokens import tokens
from cospace.errors import InputError

__all__ = ["run"]

# typer carries its own copy of click in some versions; its exceptions are reached through typer.
_UsageError: Any = typer.BadParameter.__bases__[0]


class _Command(TyperCommand):
    """A command whose help groups the options under the titles they were given."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one section a title."""
        sections: dict[str, list[tuple[str, str]]] = {}
        param: Any
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            title = getattr(param, "rich_help_panel", None) or "Options"
            if param.param_type_name == "argument":
                title, record = "Arguments", (param.metavar, param.help)
            sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def _version(*, asked: bool) -> None:
    if asked:
        from cospace import __version__

        typer.echo(f"cospace {__version__}")
        raise typer.Exit


def _root(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version.",
            is_eager=True,
            callback=lambda value: _version(asked=value),
        ),
    ] = False,
) -> None:
    """Measure how alike the spaces are in which language models represent text.

    Start with 'cospace demo', or compare your own: 'cospace compare minilm mpnet',
    'cospace compare a.npy b.npy'.
    """
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


app = typer.Typer(
    name="cospace",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
)
app.callback(invoke_without_command=True)(_root)
for command, summary in (
    (demo, "Compare three real models, and write a report."),
    (models, "List the packaged models."),
    (corpus, "List the texts that can be read, or show one."),
    (measures, "List the measures and what they claim."),
    (extract, "Read activations of models into a store."),
    (compare, "Compare models, or arrays of your own."),
    (correspond, "Compare all models of a store, depth by depth."),
    (affine, "Bound the distance to affine images of a space."),
    (tokens, "Compare token embeddings of models."),
    (route, "Judge whether choosing a model by the prompt is worth it."),
    (report, "Write the report of a saved result."),
):
    app.command(cls=_Command, short_help=summary)(command)
studies = typer.Typer(
    name="study",
    help="Run a paper's whole protocol on models of yours.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
studies.command(
    cls=_Command, short_help="Affine maps between encoders, and what probes make of them."
)(affine_homotopy)
studies.command(
    cls=_Command, short_help="Token embeddings of models, and steering vectors between them."
)(shared_geometry)
studies.command(cls=_Command, short_help="Many models in one space, and a router among them.")(
    five_architectures
)
app.add_typer(studies)
steering = typer.Typer(
    name="steer",
    help="Make a steering vector of a behaviour, and see what it does.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
steering.command(cls=_Command, short_help="Make a steering vector from questions.")(steer.build)
steering.command(cls=_Command, short_help="Score a vector on other questions.")(steer.score)
steering.command(cls=_Command, short_help="Carry a vector to another model.")(
    steer_transfer.transfer
)
steering.command(cls=_Command, short_help="Continue prompts with and without a vector.")(
    steer_generate.generate
)
app.add_typer(steering)
spaces = typer.Typer(
    name="space",
    help="Fit one space to many models, and test it on texts that no fit saw.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
spaces.command(cls=_Command, short_help="Fit one space to all models of a store.")(space.fit)
spaces.command(cls=_Command, short_help="Let models find each other's texts, beside baselines.")(
    space_score.score
)
spaces.command(cls=_Command, short_help="Score at every depth and pooling.")(space_sweep.sweep)
spaces.command(cls=_Command, short_help="Add a model to a finished space.")(space.add)
spaces.command(
    cls=_Command, short_help="Take rows into the space, or through it to another model."
)(space.apply)
app.add_typer(spaces)


def run(words: Sequence[str]) -> int:
    """Run one command line, and return its exit code.

    typer's own entry is passed by: it has other ideas of interrupts and closed pipes.

    Raises
    ------
    InputError
        For a command line that is not understood.
    """
    for word in words:
        if not _is_unicode(word):
            raise InputError(f"{word!r} is not valid UTF-8: give the file another name.")
    program = typer.main.get_command(app)
    try:
        with program.make_context("cospace", list(words), obj={"words": list(words)}) as context:
            program.invoke(context)
    except typer.Exit as stop:
        return int(stop.exit_code)
    except _UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else "cospace"
        raise InputError(f"{_sentence(error.format_message())} See '{path} --help'.") from None
    return 0


def _is_unicode(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "?")) else f"{text}."

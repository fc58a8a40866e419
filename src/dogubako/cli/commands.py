"""Commands from typed functions: the signature names options and arguments, and click parses them."""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import click
import msgspec

P = ParamSpec("P")
ResultT = TypeVar("ResultT")

_METAVARS: Final = {str: "TEXT", int: "NUMBER", Path: "PATH"}


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """What the help says about a parameter of a function, and between what a number must be."""

    help: str
    names: Sequence[str] = ()
    metavar: str | None = None
    min: int | None = None
    max: int | None = None
    envvar: str | None = None
    positional: bool = False


def option(
    *names: str,
    help: str,  # noqa: A002
    metavar: str | None = None,
    min: int | None = None,  # noqa: A002
    max: int | None = None,  # noqa: A002
    envvar: str | None = None,
) -> Parameter:
    """Describe an option, in the annotation of a parameter. Without names, `read_only` is `--read-only`."""
    return Parameter(help=help, names=names, metavar=metavar, min=min, max=max, envvar=envvar)


def argument(*, help: str, metavar: str | None = None) -> Parameter:  # noqa: A002
    """Describe an argument, in the annotation of a parameter: a word that has no name on the command line."""
    return Parameter(help=help, metavar=metavar, positional=True)


class Commands(click.Group):
    """A group that lists its commands in their order, and each with its whole first sentence."""

    def __init__(self, name: str | None = None, **settings: Any) -> None:
        super().__init__(name, **settings)
        # By name, in the order of the help.
        self._late: dict[str, Callable[[], click.Command]] = {}

    def register(
        self, name: str | None = None, *, context_settings: dict[str, Any] | None = None
    ) -> Callable[[Callable[P, ResultT]], Callable[P, ResultT]]:
        """Decorate a function: it becomes a command, and stays a function. The settings are those of click."""

        def registered(function: Callable[P, ResultT]) -> Callable[P, ResultT]:
            self.add_command(command_of(function, name, context_settings))
            return function

        return registered

    def register_late(self, name: str, find: Callable[[], Callable[..., Any]]) -> None:
        """Add a command, as a function or a group, that is found when somebody asks for it or for the help."""

        def found() -> click.Command:
            command = find()
            return command if isinstance(command, click.Command) else command_of(command, name)

        self._late[name] = found

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        super().add_command(cmd, name)
        self._late.setdefault(name or cmd.name or "", lambda: cmd)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and cmd_name in self._late:
            self.add_command(self._late[cmd_name](), cmd_name)
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._late)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, _first_sentence(command.help or "")) for name, command in commands if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def command_of(
    function: Callable[..., Any], name: str | None = None, context_settings: dict[str, Any] | None = None
) -> click.Command:
    """The command that a typed function describes. Without a name, `check_all` is `check-all`."""
    called = name or function.__name__.replace("_", "-")
    return click.Command(called, context_settings, function, parameters_of(function), inspect.getdoc(function))


def parameters_of(function: Callable[..., Any]) -> list[click.Parameter]:
    """The options and arguments that the annotations of a function describe."""
    hints = get_type_hints(function, include_extras=True)
    found = inspect.signature(function).parameters.values()
    return [_parameter(one.name, hints[one.name], one.default) for one in found]


def _parameter(name: str, hint: Any, default: Any) -> click.Parameter:
    assert get_origin(hint) is Annotated, f"{name} says nothing about itself"
    kind, about = get_args(hint)
    value = _value_of(kind, about)
    required = default is inspect.Parameter.empty
    # `None` stands for an option that is not given, also where it may be given several times.
    known: dict[str, Any] = {"type": value.type, "help": about.help, "required": required, "callback": _none_if_empty}
    if not required:
        known["default"] = default
    if about.positional:
        return click.Argument([name], nargs=-1 if value.several else 1, metavar=about.metavar, **known)
    names = about.names or (f"--{name.replace('_', '-')}",)
    if value.is_flag:
        return click.Option([name, *names], is_flag=True, **known)
    return click.Option(
        [name, *names],
        multiple=value.several,
        metavar=about.metavar or value.metavar,
        envvar=about.envvar,
        show_default=not required and default not in (None, "", 0),
        **known,
    )


class _Value(msgspec.Struct, frozen=True, kw_only=True):
    type: click.ParamType[Any] = click.STRING
    metavar: str | None = None
    several: bool = False
    is_flag: bool = False


def _value_of(kind: Any, about: Parameter) -> _Value:
    if get_origin(kind) in (UnionType, Union):
        [kind] = [one for one in get_args(kind) if one is not NoneType]
    several = get_origin(kind) is list
    if several:
        [kind] = get_args(kind)
    if kind is bool:
        return _Value(type=click.BOOL, is_flag=True)
    if get_origin(kind) is Literal:
        return _Value(type=click.Choice(get_args(kind)), several=several)
    return _Value(type=_TYPES[kind](about), metavar=_METAVARS[kind], several=several)


_TYPES: Final[dict[type, Callable[[Parameter], click.ParamType[Any]]]] = {
    str: lambda about: click.STRING,
    int: lambda about: click.INT if about.min is about.max is None else click.IntRange(about.min, about.max),
    Path: lambda about: click.Path(path_type=Path),
}


def _none_if_empty(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """A list for what may be given several times, and nothing where it is not given."""
    if isinstance(value, tuple):
        return list(value) or None
    return value


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].removesuffix(".")

"""``anabranch verify``: whether both clusters of a link hold the same records, and what differs."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from anabranch.cli.hints import quoted
from anabranch.cli.verify.guard import no_false_verdict
from anabranch.cli.verify.show import show
from anabranch.cli.verify.start import resume, start
from anabranch.cli.verify.stop import stop
from anabranch.errors import InvalidFieldError


class _Verbs(TyperGroup):
    """The verbs; a word that is none of them is most likely a link, and no fault of theirs is a verdict."""

    def invoke(self, ctx: Any) -> Any:
        with no_false_verdict():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0] if args else ""
        if word and not word.startswith("-") and self.get_command(ctx, word) is None:
            fix = f"anabranch verify start {quoted(word)}"
            raise InvalidFieldError("verify", word, f"no verb; there are {', '.join(self.commands)}", fix)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Verbs,
    help="Compare both sides of a link, record by record; exits with 0 equal, 1 different, 2 or more: could not tell.",
    no_args_is_help=True,
)
app.command("start")(start)
app.command("show")(show)
app.command("stop")(stop)
app.command("resume")(resume)

"""attentest serve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

import attentest
from attentest.cli.app import command
from attentest.cli.options import Device
from attentest.cli.streams import say
from attentest.cli.views import Dtype
from attentest.models.pretrained.precision import AUTO


@command()
def serve(
    runs: Annotated[list[Path], Argument(help="Folders of one or two runs or audits; nothing is written to them.")],
    host: Annotated[str, Option(help="Address to serve at; 0.0.0.0 lets other machines read the texts.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port to serve at; 0 takes any that is free.")] = 8000,
    device: Device = "auto",
    dtype: Dtype = AUTO,
) -> None:
    """Explore a model's attention in the browser."""
    from attentest.server.extra import need_web

    need_web()
    from attentest.server.explorer.app import explorer_app
    from attentest.server.explorer.background import examining
    from attentest.server.safety import Safety, hosts_of
    from attentest.server.serving import address_of, bound, run_server
    from attentest.training.run import choose_device

    chosen = choose_device(device)
    opened = [attentest.open_run(run).computed_in(dtype) for run in runs]
    listening = bound(host, port)
    for run in opened:
        run.model.to(chosen)
    app = explorer_app(opened)
    say(f"The explorer is at {address_of(listening)} (Ctrl-C ends it).")
    with examining(app.state.examined):
        run_server(Safety(app, hosts_of(host, listening.getsockname()[1])), listening)

"""attentest annotate serve."""

from __future__ import annotations

import shlex
from typing import Annotated

from typer import Option

from attentest.cli.app import annotate_command
from attentest.cli.options import AsJson, counted
from attentest.cli.people import Database, Study
from attentest.cli.signals import closed_at_end
from attentest.cli.streams import say, say_json


@annotate_command("serve")
def serve_people(
    folder: Study,
    annotators: Annotated[
        str, Option(help="Names, separated by commas; whoever is new gets a private link.", metavar="NAMES")
    ] = "",
    new_links: Annotated[
        str, Option(help="Names of annotators who get another link; their link from before ends.", metavar="NAMES")
    ] = "",
    host: Annotated[
        str, Option(help="Address to serve at; others than this machine's own are open to all.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(help="Port to serve at; 0 takes any that is free.")] = 8000,
    address: Annotated[
        str | None,
        Option(
            help="How annotators reach the server, e.g. https://study.example.org [http://HOST:PORT].", metavar="URL"
        ),
    ] = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Ask people in the browser: print a private link for each annotator, and serve the study."""
    from attentest.server.extra import need_web

    need_web()
    from attentest.people.given_answers import opened
    from attentest.people.study import open_study
    from attentest.server.annotating.app import annotating_app
    from attentest.server.annotating.door import address_bucket
    from attentest.server.annotating.links import allowed_hosts, links_for, names_in, public_address
    from attentest.server.safety import Safety
    from attentest.server.serving import address_of, bound, run_server

    names, renewed = names_in(annotators), names_in(new_links)
    study = open_study(folder)
    count = len(study.items)
    listening = bound(host, port)
    own = public_address(address, host, address_of(listening))
    answers = opened(study, database)
    with closed_at_end(answers.close):
        links = links_for(answers, own, names, renewed)
        if as_json:
            say_json({"address": own, "items": count, "links": links})
        else:
            say(f"{counted(count, 'item')} at {own} (Ctrl-C ends it). Give each annotator their own link only:")
            nobody_knows = answers.without_token()
            for name, link in links.items():
                say(f"  {name}: {link or _no_link(name, name in nobody_knows)}")
        app = annotating_app(study, answers)
        run_server(Safety(app, allowed_hosts(own, host, listening.getsockname()[1]), address_bucket()), listening)


def _no_link(name: str, never: bool) -> str:
    another = f"--new-links {shlex.quote(name)}"
    return f"no link yet ({another})" if never else f"the link from before (another one: {another})"

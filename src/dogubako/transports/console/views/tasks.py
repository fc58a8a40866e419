"""Tasks: what runs, waits and has ended, and a button that cancels."""

from typing import Final

from starlette.responses import Response

from dogubako.transports.console.page import Form, Visit, page, redirect
from dogubako.transports.console.session import PATH
from dogubako.transports.console.views import Views

_MOST: Final = 100


async def index(views: Views, visit: Visit) -> Response:
    """The newest tasks of this caller; of all callers for an administrator."""
    tasks = views.inside.tasks
    rows = [] if tasks.unavailable else await tasks.through("console", visit.caller).newest(_MOST)
    return await page(visit, "tasks.html", active="tasks", rows=rows, unavailable=tasks.unavailable, most=_MOST)


async def cancel(views: Views, visit: Visit, form: Form) -> Response:
    """Cancel a task. Its tool is stopped wherever it runs."""
    await views.inside.tasks.through("console", visit.caller).cancel(visit.request.path_params["id"])
    return redirect(f"{PATH}/tasks")

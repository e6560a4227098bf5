"""How does LangChain, and LangGraph with it, ask for one patient? By tools, and by a retriever of cited lines.

Over `langchain-core` alone (the extra `iamata[langchain]`). Which tools there are is for `toolbox`. What LangChain's
callbacks and tracing do with what they see is the caller's to decide; nothing is sent from here.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from iamata.errors import Unavailable
from iamata.integrations.toolbox import Toolbox
from iamata.interfaces.wire.origins import labels
from iamata.interfaces.wire.values import Json
from iamata.model.attribution import Attribution
from iamata.model.context import Context, ContextItem, ContextRequest
from iamata.model.scope import Scope, Subject
from iamata.model.statement import Aspect

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool, ToolException
except ModuleNotFoundError:
    raise Unavailable("LangChain is not installed: pip install 'iamata[langchain]'") from None

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PatientRetriever", "PatientTool", "tools"]


class PatientTool(BaseTool):
    """One tool of a toolbox. Its message is the text for the model, its artifact the same as JSON; a failed call is a
    message of status `error`, not an exception."""

    toolbox: Toolbox
    response_format: str = "content_and_artifact"  # type: ignore[assignment]  # wider here than the base's Literal
    handle_tool_error: bool = True

    def _run(self, /, **given: Any) -> tuple[str, Json]:
        made = self.toolbox.call(self.name, given)
        if made.failed:
            raise ToolException(made.text)
        return made.text, made.structured

    async def _arun(self, /, **given: Any) -> tuple[str, Json]:
        return await asyncio.to_thread(self._run, **given)


def tools(box: Toolbox) -> list[PatientTool]:
    """The tools of the toolbox, for `bind_tools` and LangGraph's `ToolNode`."""
    return [
        PatientTool(
            name=each.name,
            description=each.description,
            args_schema=each.schema,
            toolbox=box,
            metadata={"title": each.title, "writes": each.writes},
        )
        for each in box.functions
    ]


class PatientRetriever(BaseRetriever):
    """The lines of a context for a task and a question, one Document each, in the context's order (what must not be
    missed first), together within `budget_tokens`.

    A Document's text is the line; its id is the item's. Its metadata:

    - `citation`: what `explain` takes (`ctx_…[3]`); `address`: what `read` takes; `item`: the id of the fact, passage,
      memory or entry; `context`: the id of the context. A line that says what is not recorded has no item and no
      citation (None), and the address is the directory's;
    - `weight`: 0..1 for `task` on `aspect`; both None where nothing is weighed (notes, entries);
    - `scope` and `subject` (`patient`, `patient/ada`);
    - `attribution`: who says it, by each of `items` behind the line: `{item, kind, role, author}`;
    - `conflict`: the id of an open conflict or None, whose sides stand on the same line; `stale`, `safety`, `labels`;
    - `fits`: whether the safety set had room.

    Not promised: that all that is relevant is there; the tool `assemble_context` also says what was left out. Raises
    the errors of the engine.
    """

    toolbox: Toolbox
    task: str = "general"
    budget_tokens: int = 2000
    aspect: Aspect | None = None
    also_about: tuple[Subject, ...] = ()  # no patients: a context is about one

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun | None = None
    ) -> list[Document]:
        box = self.toolbox
        made = box.engine.context(
            ContextRequest(
                subjects=(box.subject, *self.also_about),
                task=self.task,
                budget_tokens=self.budget_tokens,
                query=query,
                aspect=self.aspect,
            ),
            access=box.access,
        )
        said = _said(box, self.also_about, made)
        return [Document(each.text, id=each.item or None, metadata=_metadata(made, each, said)) for each in made.items]


def _metadata(made: Context, item: ContextItem, said: Mapping[str, Attribution]) -> Json:
    subject = _subject(item)
    return {
        "citation": f"{made.id}[{item.number}]" if item.number else None,
        "context": made.id,
        "item": item.item or None,
        "address": item.address,
        "task": made.request.task,
        "aspect": item.authority.aspect.value if item.authority else None,
        "weight": item.authority.weight if item.authority else None,
        "scope": subject.scope.value,
        "subject": str(subject),
        "attribution": [
            {"item": each, "kind": by.kind.value, "role": by.author.role.value, "author": by.author.display}
            for each in item.citations
            if (by := said.get(each)) is not None
        ],
        "items": list(item.citations),
        "conflict": item.conflict or None,
        "stale": item.stale,
        "safety": item.safety,
        "labels": labels(item.labels),
        "fits": made.fits,
    }


def _subject(item: ContextItem) -> Subject:
    """Whose tree the address stands in."""
    scope, _, rest = item.address.strip("/").partition("/")
    return Subject(Scope(scope), rest.partition("/")[0])


def _said(box: Toolbox, others: tuple[Subject, ...], made: Context) -> dict[str, Attribution]:
    """Who says each thing that this reader may see of the patient, and of those others that the context tells of."""
    graph = box.engine.graph(box.patient, access=box.access)
    said = dict(graph.attributions)
    said |= {id: each.attribution for id, each in graph.memories.items()}
    told = {_subject(each) for each in made.items}
    for other in others:
        if other in told:
            for entry in box.engine.entries(other, access=box.access):
                said[entry.id] = entry.attribution
                said |= {each.id: entry.attribution for each in entry.passages}
    return said

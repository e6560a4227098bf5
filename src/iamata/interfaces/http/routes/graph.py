"""The graph: nodes and edges by type, listed, one by one, and by query."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from iamata.errors import Gone, NotFound
from iamata.interfaces.http.asking import MOST_PER_PAGE, Here, JsonBody, Lines, Moments, Pages, When, Who, listed
from iamata.interfaces.http.replies import answered, json_reply, lines_reply
from iamata.interfaces.http.schemas import LISTED, query_schema
from iamata.interfaces.http.serving import Served
from iamata.interfaces.wire.edges import EDGE_TYPES, EdgeType, one, touching
from iamata.interfaces.wire.nodes import NODE_TYPES, NodeType, find
from iamata.interfaces.wire.queries import fields_of, read_query
from iamata.interfaces.wire.values import page
from iamata.interfaces.wire.view import GraphView
from iamata.model.access import Access

router = APIRouter(prefix="/v1/patients/{patient_id}/graph", tags=["graph"])


def _view(served: Served, patient_id: str, when: Moments, access: Access) -> GraphView:
    graph = served.engine.graph(patient_id, known_at=when.known_at, true_at=when.true_at, access=access)
    return served.view(graph, access)


def _node_type(name: str) -> NodeType:
    if name not in NODE_TYPES:
        raise NotFound(what="node type")
    return NODE_TYPES[name]


def _edge_type(name: str) -> EdgeType:
    if name not in EDGE_TYPES:
        raise NotFound(what="edge type")
    return EDGE_TYPES[name]


@router.get("/nodes/{type}/items", operation_id="list-nodes", responses=LISTED)
def list_nodes(
    served: Here, access: Who, request: Request, patient_id: str, type: str, paging: Pages, when: When, lines: Lines
) -> Response:
    """A page of the nodes of one type, by id."""
    kind = _node_type(type)
    view = _view(served, patient_id, when, access)
    ids = kind.ids(view)
    if lines:
        return lines_reply(kind.one(view, id) for id in ids)
    first = paging.number * paging.size
    data = [kind.one(view, id) for id in ids[first : first + paging.size]]
    return answered(request, page(data, len(ids), paging.number, paging.size))


@router.get("/nodes/{type}/items/{node_id}", operation_id="get-node")
def get_node(
    served: Here, access: Who, request: Request, patient_id: str, type: str, node_id: str, when: When
) -> Response:
    """One node. A fact is also found by the id of any of its members and by ids it had before."""
    view = _view(served, patient_id, when, access)
    node = find(_node_type(type), view, node_id)
    if node is None and node_id in view.graph.hidden:
        raise Gone(what="memory")
    if node is None:
        raise NotFound(what="node")
    return answered(request, node)


@router.post("/nodes/{type}/query", operation_id="query-nodes", responses=LISTED, openapi_extra=query_schema())
def query_nodes(
    served: Here, access: Who, patient_id: str, type: str, body: JsonBody, when: When, lines: Lines
) -> Response:
    """A page of the nodes of one type that a filter holds for, sorted. Fields, operators and order are those of the
    reference (queries)."""
    kind = _node_type(type)
    query = read_query(body, fields_of(type), most_per_page=MOST_PER_PAGE)
    view = _view(served, patient_id, when, access)
    if lines:
        return lines_reply(query.every(kind.ids(view), lambda id: kind.one(view, id)))
    data, total = query.answer(kind.ids(view), lambda id: kind.one(view, id))
    return json_reply(page(data, total, query.number, query.size))


@router.get("/edges/{type}/items", operation_id="list-edges", responses=LISTED)
def list_edges(
    served: Here,
    access: Who,
    request: Request,
    patient_id: str,
    type: str,
    paging: Pages,
    when: When,
    lines: Lines,
    touching_: Annotated[
        list[str] | None, Query(alias="touching", description="Only edges at these nodes; may be repeated.")
    ] = None,
) -> Response:
    """A page of the edges of one type, by id."""
    kind = _edge_type(type)
    view = _view(served, patient_id, when, access)
    wanted = listed(touching_)
    ids = touching(kind, view, wanted) if touching_ is not None else kind.ids(view)
    if lines:
        return lines_reply(one(kind, view, id) for id in ids)
    first = paging.number * paging.size
    data = [one(kind, view, id) for id in ids[first : first + paging.size]]
    return answered(request, page(data, len(ids), paging.number, paging.size))


@router.get("/edges/{type}/items/{edge_id}", operation_id="get-edge")
def get_edge(
    served: Here, access: Who, request: Request, patient_id: str, type: str, edge_id: str, when: When
) -> Response:
    """One edge."""
    kind = _edge_type(type)
    view = _view(served, patient_id, when, access)
    if edge_id not in set(kind.ids(view)):
        raise NotFound(what="edge")
    return answered(request, one(kind, view, edge_id))


@router.post("/edges/{type}/query", operation_id="query-edges", responses=LISTED, openapi_extra=query_schema())
def query_edges(
    served: Here, access: Who, patient_id: str, type: str, body: JsonBody, when: When, lines: Lines
) -> Response:
    """A page of the edges of one type that a filter holds for, sorted. Fields, operators and order are those of the
    reference (queries)."""
    kind = _edge_type(type)
    query = read_query(body, fields_of(type), most_per_page=MOST_PER_PAGE)
    view = _view(served, patient_id, when, access)
    if lines:
        return lines_reply(query.every(kind.ids(view), lambda id: one(kind, view, id)))
    data, total = query.answer(kind.ids(view), lambda id: one(kind, view, id))
    return json_reply(page(data, total, query.number, query.size))

"""The routes, one module per group. Each function asks the engine one thing and hands the answer to `wire`."""

from __future__ import annotations

from fastapi import APIRouter

from iamata.interfaces.http.routes import (
    access,
    contexts,
    entries,
    exporting,
    governance,
    graph,
    ingestions,
    memories,
    patients,
    reports,
    review,
    sessions,
    tree,
)

ROUTERS: tuple[APIRouter, ...] = (
    patients.router,
    ingestions.router,
    tree.router,
    graph.router,
    sessions.router,
    memories.router,
    reports.router,
    review.router,
    contexts.router,
    exporting.router,
    governance.router,
    access.router,
    entries.router,
    entries.learning,
)

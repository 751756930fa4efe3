"""Every refusal is a sentence, in JSON."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as Refused

from attentest.errors import InputError


def tell_errors(app: FastAPI) -> None:
    @app.exception_handler(InputError)
    def wrong(request: Request, error: InputError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 400)

    @app.exception_handler(RequestValidationError)
    def misshapen(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])[:100]
        return JSONResponse({"error": f"{where}: {first['msg']}."}, 400)

    @app.exception_handler(Refused)
    def refused(request: Request, error: Refused) -> JSONResponse:
        return JSONResponse({"error": str(error.detail)}, error.status_code, headers=error.headers)

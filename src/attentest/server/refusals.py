"""Every refusal is a sentence, in JSON."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as Refused

from attentest.errors import InputError

PLAIN = {
    404: "There is nothing at this address.",
    405: "This address does not take requests of this method.",
}
BROKEN = "Something went wrong in the server. Try again; if it happens again, please report it."


def tell_errors(app: FastAPI) -> None:
    @app.exception_handler(InputError)
    def wrong(request: Request, error: InputError) -> JSONResponse:
        return refusal(str(error), 400)

    @app.exception_handler(RequestValidationError)
    def misshapen(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])[:100]
        return refusal(f"{where}: {first['msg']}.", 400)

    @app.exception_handler(Refused)
    def refused(request: Request, error: Refused) -> JSONResponse:
        usual = error.detail == HTTPStatus(error.status_code).phrase
        words = PLAIN.get(error.status_code, f"{error.detail}.") if usual else str(error.detail)
        answer = refusal(words, error.status_code)
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(Exception)
    def broken(request: Request, error: Exception) -> JSONResponse:
        return refusal(BROKEN, 500)


def refusal(words: str, status: int) -> JSONResponse:
    # what was given may be repeated, and may be half of a character
    return JSONResponse({"error": words.encode("utf-8", "replace").decode()}, status)

"""What requests are answered with, as the OpenAPI description has it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Problem(Answer):
    """Why a request was refused."""

    error: str


class About(Answer):
    """A run that is open."""

    name: str
    corpus: str
    kind: str = Field(description="single or pair")
    classes: list[str]
    metrics: dict[str, float | None] = Field(description="on the test split")
    texts: int = Field(description="of the test split")
    sites: list[str] = Field(description="places where weights are made; the last one is looked at unless told")
    heads: dict[str, int] = Field(description="by site, where there is self-attention")
    views: list[str] = Field(description="what can be shown as the attention of a pretrained encoder")
    measures: list[str]
    affine: bool = Field(description="whether the page can compute predictions itself")
    hierarchical: bool
    special: bool = Field(description="whether there are special tokens that can be shown")
    sinks: list[str] | None = Field(description="tokens that draw weight in all texts; null: none looked for (yet)")
    reads_own_texts: bool
    max_tokens: int
    sorts: list[str]
    not_sorted: dict[str, str] = Field(description="why the texts cannot be sorted by these")


class Runs(Answer):
    runs: list[About]


class Row(Answer):
    """A text of the list."""

    row: int
    id: str
    label: str
    predicted: str
    confidence: float
    adversary: float | None = Field(description="largest JSD to weights with nearly the same prediction")
    disagreement: float | None = Field(description="1 − Kendall's τ of attention with leave-one-out")
    tokens: int
    start: str


class Progress(Answer):
    done: int
    of: int


class Texts(Answer):
    total: int
    offset: int
    rows: list[Row]
    ordering: Progress = Field(description="texts whose place in this order is known so far")


class Affine(Answer):
    """logits = weights @ token_logits + bias"""

    token_logits: list[list[float]]
    bias: list[float]


class State(Answer):
    """A text under the model's own weights."""

    run: int
    row: int | None
    id: str | None
    text: str
    second: str | None
    label: str | None
    cut: int = Field(description="tokens that were not read")
    window: int
    windows: int
    site: str
    head: int | None
    query: int | None
    queries: bool = Field(description="whether every token has a row of weights, which `query` chooses")
    view: str | None
    tokens: list[str]
    gaps: list[str] = Field(description="what stands before each token")
    tail: str
    special: list[int] | None
    sink: list[int] | None
    unknown: list[int] | None
    second_from: int | None = Field(description="the first token of the second text")
    rationale: list[int] | None
    within: list[int] | None = Field(description="the part of each token in which weights sum to 1; null: all")
    classes: list[str]
    weights: list[float]
    probabilities: list[float]
    affine: Affine | None
    shares: list[float] | None
    draggable: bool
    why: str | None = Field(description="why these weights cannot be changed")
    adversary: str | None = Field(description="exact or search; null: there is none to be found here")


class Decoded(Answer):
    """The prediction under other weights."""

    probabilities: list[float]
    tvd: float
    jsd: float


class Adversary(Decoded):
    weights: list[float]
    exact: bool
    within_tvd: float


class Measure(Answer):
    measure: str
    scores: list[float | None]
    of: str


class Steps(Answer):
    """How the weights came about; each step has a name, a sentence and its numbers."""

    steps: list[dict[str, Any]]
    why: str | None


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": words}
    for status, words in {
        400: "What was asked cannot be used.",
        403: "A page of another site asked.",
        404: "There is no such run.",
        413: "The request is too large.",
        415: "The body is not JSON.",
        421: "The server has another address.",
        429: "Too many requests.",
    }.items()
}

"""The classifier without attention, against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest

import attentest
from attentest.corpora import Corpus, build_corpus
from attentest.measures.classification import classification_metrics
from attentest.text.prepare import tokenize_corpus
from attentest.text.settings import TextSettings
from attentest.text.tokenizer import Tokenizer
from attentest.training.baseline import baseline, probabilities

LETTERS = "abcdefgh"
WORDS = np.array([f"{a}{b}{c}" for a in LETTERS for b in LETTERS for c in LETTERS])


def noisy(rows: int, classes: int, *, pairs: bool = False) -> Corpus:
    """Words whose frequencies lean towards their class."""
    generator = np.random.default_rng(5)
    labels = np.arange(rows) % classes
    lean = generator.dirichlet(np.full(len(WORDS), 0.2), classes + 1)

    def texts() -> list[str]:
        chances = (lean[labels] + 2 * lean[-1]) / 3
        return [" ".join(generator.choice(WORDS, generator.integers(1, 30), p=chance)) for chance in chances]

    columns = {"text": texts(), "label": labels} | ({"second": texts()} if pairs else {})
    return build_corpus("noisy", columns, kind="pair" if pairs else "single")


def of_scikit_learn(corpus: Corpus, settings: TextSettings) -> tuple[np.ndarray, np.ndarray]:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    linear = pytest.importorskip("sklearn.linear_model")
    read = Tokenizer(settings)
    train, test = corpus.split == "train", corpus.split == "test"
    assert corpus.kind == "single"
    texts = np.array([read.tokens(one)[: settings.max_tokens] for one in corpus.table["text"].to_pylist()], object)
    vectorizer = text.TfidfVectorizer(analyzer=lambda tokens: tokens)
    fitted = linear.LogisticRegression(tol=1e-8, max_iter=10_000).fit(
        vectorizer.fit_transform(texts[train]), corpus.labels[train]
    )
    return corpus.labels[test], fitted.predict_proba(vectorizer.transform(texts[test]))


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_the_same_as_scikit_learn(classes: int) -> None:
    corpus, settings = noisy(900, classes), TextSettings(max_tokens=20)
    labels, wanted = of_scikit_learn(corpus, settings)
    data = tokenize_corpus(corpus, settings)
    ours = probabilities(data, data.of_split("test"))
    assert np.abs(ours - wanted).max() < 1e-3
    theirs = classification_metrics(labels, wanted)
    found = baseline(corpus, settings)
    assert abs(found["accuracy"] - theirs["accuracy"]) <= 2 / len(labels)
    assert found["auc"] == pytest.approx(theirs["auc"], abs=1e-3)
    assert theirs["accuracy"] > 1.5 / classes  # there is something to learn


def test_the_words_of_a_pair_are_features_of_their_own() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    text = pytest.importorskip("sklearn.feature_extraction.text")
    linear = pytest.importorskip("sklearn.linear_model")
    normalize = pytest.importorskip("sklearn.preprocessing").normalize
    corpus = noisy(500, 2, pairs=True)
    data = tokenize_corpus(corpus, TextSettings())
    # one vocabulary for both, counted over both
    known = {token: number for number, token in enumerate(data.vocabulary.tokens)}
    sides = []
    train, test = corpus.split == "train", corpus.split == "test"
    for name in ("text", "second"):
        texts = np.array([one.split() for one in corpus.table[name].to_pylist()], object)
        counts = text.CountVectorizer(analyzer=lambda tokens: tokens, vocabulary=known)
        weights = text.TfidfTransformer(norm=None).fit(counts.transform(texts[train]))
        sides.append(weights.transform(counts.transform(texts)))
    matrix = normalize(sparse.hstack(sides).tocsr())
    fitted = linear.LogisticRegression(tol=1e-8, max_iter=10_000).fit(matrix[train], corpus.labels[train])
    ours = probabilities(data, data.of_split("test"))
    assert np.abs(ours - fitted.predict_proba(matrix[test])).max() < 1e-3


def test_texts_without_a_known_word_get_the_same_answer() -> None:
    corpus = noisy(300, 2)
    data = tokenize_corpus(corpus, TextSettings(min_frequency=1_000_000))
    ours = probabilities(data, data.of_split("test"))
    share = data.labels[data.of_split("train")].mean()
    assert ours == pytest.approx(np.tile([1 - share, share], (len(ours), 1)), abs=1e-4)


def test_it_is_the_same_every_time() -> None:
    corpus = attentest.load("planted", rows=300, difficulty=0.3)
    assert baseline(corpus, TextSettings()) == baseline(corpus, TextSettings())
    assert baseline(corpus, TextSettings())["accuracy"] > 0.8

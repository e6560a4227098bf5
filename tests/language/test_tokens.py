"""Tokens are counted exactly, or the tokenizer is refused."""

from __future__ import annotations

import pytest

from iamata.errors import InvalidValue
from iamata.language.tokens import ENCODINGS, token_counter


def test_known_counts_of_the_default_encoding() -> None:
    counter = token_counter()
    assert counter.name == "o200k_base"
    assert counter.count("") == 0
    assert counter.count("hello world") == 2
    assert counter.count("{}") == 1


def test_special_tokens_count_as_ordinary_text() -> None:
    assert token_counter().count("<|endoftext|>") == 7


def test_a_lone_surrogate_counts_as_the_replacement_character() -> None:
    counter = token_counter()
    assert counter.count("a\ud800b") == counter.count("a\ufffdb")


def test_every_named_encoding_is_there_and_the_same_object_each_time() -> None:
    for name in ENCODINGS:
        assert token_counter(name).count("Otitis media, active since 2026-02-10") > 5
        assert token_counter(name) is token_counter(name)


def test_an_unknown_tokenizer_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidValue, match=r"known are cl100k_base, .*o200k_base"):
        token_counter("gpt-9")

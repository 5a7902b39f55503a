"""Hashes, checksums, strings, hash tables."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import cache

import numpy as np
from program import Array, Claim, Outcome, Program, exact

_PATTERN = b"na.a"


def _padded(text: bytes) -> Array:
    return np.frombuffer(text + bytes(-len(text) % 4), np.uint32)


def _messages(rng: np.random.Generator) -> dict[str, Array]:
    """Messages of every length from 0 to 55 bytes, followed by nonzero bytes."""
    messages = np.zeros(64, np.dtype([("text", "u1", 56), ("length", "u4")]))
    messages["text"] = rng.integers(0, 256, (64, 56))
    messages["length"] = np.arange(64) % 56
    return {"Messages": messages.view(np.uint32), "Digests": np.zeros((64, 8), np.uint32)}


def _sha256(outcome: Outcome) -> Iterator[Claim]:
    messages = outcome.inputs["Messages"].reshape(64, 15)
    texts = [row[:14].tobytes()[: row[14]] for row in messages]
    digests = [np.frombuffer(hashlib.sha256(text).digest(), ">u4") for text in texts]
    yield exact(outcome, "Digests", np.stack(digests))


def _strings(rng: np.random.Generator) -> dict[str, Array]:
    ends = np.cumsum(rng.integers(0, 40, 80))
    spans = np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1)
    return {
        "Bytes": _padded(rng.bytes(int(ends[-1]))),
        "Spans": spans.astype(np.uint32),
        "Sums": np.zeros(80, np.uint32),
    }


def _checksums(outcome: Outcome) -> Iterator[Claim]:
    text = outcome.inputs["Bytes"].tobytes()
    sums = [zlib.crc32(text[begin:end]) for begin, end in outcome.inputs["Spans"]]
    yield exact(outcome, "Sums", np.array(sums, np.uint32))


_DIVISOR = 0x1_2345_6789


def _keys64(rng: np.random.Generator) -> dict[str, Array]:
    keys = rng.integers(0, 2**64, 128, dtype=np.uint64) >> rng.integers(0, 63, 128, dtype=np.uint64)
    blank = np.zeros(128, np.uint64)
    return {"Keys": keys, "Hashes": blank, "Mixed": blank, "Arithmetic": np.zeros((128, 4), np.uint64)}


def _hash64(outcome: Outcome) -> Iterator[Claim]:
    hashes, mixed, arithmetic = [], [], []
    for key in outcome.inputs["Keys"].tolist():
        value = 0xCBF29CE484222325
        for byte in key.to_bytes(8, "little"):
            value = (value ^ byte) * 0x100000001B3 % 2**64
        hashes.append(value)
        z = (key + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        mixed.append(z ^ z >> 31)
        in_order = sorted((key, value), key=lambda word: word - 2**64 if word >> 63 else word)
        arithmetic.append((*divmod(key, _DIVISOR), *in_order))
    yield exact(outcome, "Hashes", np.array(hashes, np.uint64))
    yield exact(outcome, "Mixed", np.array(mixed, np.uint64))
    yield exact(outcome, "Arithmetic", np.array(arithmetic, np.uint64))


def _key_inputs(rng: np.random.Generator) -> dict[str, Array]:
    slots = np.zeros((200, 2), np.uint32)
    slots[:, 0] = 2**32 - 1
    keys = (rng.integers(0, 120, 512) * 7919).astype(np.uint32)
    return {"Keys": keys, "Slots": slots, "Distinct": np.zeros(1, np.uint32)}


def _inserted(outcome: Outcome) -> Iterator[Claim]:
    """The slot of a key depends on the order of insertion; the content of the table does not."""
    keys, counts = np.unique(outcome.inputs["Keys"], return_counts=True)
    slots = outcome.outputs["Slots"]
    used = slots[slots[:, 0] != 2**32 - 1]
    yield exact(outcome, "Distinct", [len(keys)])
    yield Claim("the table, sorted", used[np.argsort(used[:, 0])], np.stack([keys, counts], axis=1))


def _text_inputs(rng: np.random.Generator) -> dict[str, Array]:
    text = b"".join(rng.choice([b"na", b"banana", b"an", b"xa", b"n"], 250).tolist())[:500]
    return {
        "Text": _padded(text),
        "Pattern": _padded(_PATTERN),
        "Matches": np.zeros(16, np.uint32),
        "Count": np.zeros(1, np.uint32),
    }


def _matches(outcome: Outcome) -> Iterator[Claim]:
    text = outcome.inputs["Text"].tobytes()[:500]
    found = [match.start() for match in re.finditer(b"(?=" + _PATTERN + b")", text)]
    bits = np.zeros(512, np.uint8)
    bits[found] = 1
    yield exact(outcome, "Matches", np.packbits(bits, bitorder="little").view(np.uint32))
    yield exact(outcome, "Count", [len(found)])


def _base64(outcome: Outcome) -> Iterator[Claim]:
    text = base64.b64encode(outcome.inputs["Bytes"].tobytes()[:229])
    yield exact(outcome, "Text", np.frombuffer(text + bytes(4 * 128 - len(text)), np.uint32))


def _word_inputs(rng: np.random.Generator) -> dict[str, Array]:
    lengths = rng.integers(1, 48, (6, 2))
    lengths[0] = 0, 48
    lengths[1] = 48, 48
    words = rng.integers(97, 100, (6, 2, 48))
    words[2, 1, 1:] = words[2, 0, :-1]
    return {
        "Words": words.astype(np.uint32),
        "Lengths": lengths.astype(np.uint32),
        "Distances": np.full(6, 99, np.uint32),
    }


def _distances(outcome: Outcome) -> Iterator[Claim]:
    wanted = []
    for words, lengths in zip(outcome.inputs["Words"], outcome.inputs["Lengths"], strict=True):
        first, second = (tuple(word[:length]) for word, length in zip(words, lengths, strict=True))
        wanted.append(_edits(first, second))
    yield exact(outcome, "Distances", wanted)


def _edits(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    """Return the edit distance by its definition, from the words' beginnings on."""

    @cache
    def least(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        change = least(i - 1, j - 1) + int(first[i - 1] != second[j - 1])
        return min(change, 1 + least(i - 1, j), 1 + least(i, j - 1))

    return least(len(first), len(second))


def _vote_inputs(rng: np.random.Generator) -> dict[str, Array]:
    blank = np.zeros(256, np.uint32)
    votes = rng.integers(0, 9, 256).astype(np.uint32)
    return {"Votes": votes, "Tallies": blank, "Winners": blank, "Places": blank}


def _votes(outcome: Outcome) -> Iterator[Claim]:
    votes, subgroups = outcome.inputs["Votes"].tolist(), outcome.outputs["Places"].tolist()
    boxes: dict[tuple[int, int], Counter[int]] = {}
    for index, (vote, subgroup) in enumerate(zip(votes, subgroups, strict=True)):
        boxes.setdefault((index // 64, subgroup), Counter())[vote] += 1
    tallies, winners = [], []
    for index, (vote, subgroup) in enumerate(zip(votes, subgroups, strict=True)):
        box = boxes[index // 64, subgroup]
        tallies.append(box[vote])
        winners.append(min(box, key=lambda candidate: (-box[candidate], candidate)))
    yield exact(outcome, "Tallies", tallies)
    yield exact(outcome, "Winners", winners)


PROGRAMS = (
    Program("sha256", 2, _messages, _sha256),
    Program("crc32", 2, _strings, _checksums),
    Program("hash64", 2, _keys64, _hash64, push={"divisor": _DIVISOR}, needs=("shaderInt64",)),
    Program("hash_insert", 8, _key_inputs, _inserted),
    Program(
        "string_search",
        8,
        _text_inputs,
        _matches,
        push={"text_length": 500, "pattern_length": len(_PATTERN)},
    ),
    Program(
        "base64",
        2,
        lambda rng: {"Bytes": _padded(rng.bytes(229)), "Text": np.zeros(128, np.uint32)},
        _base64,
        push={"length": 229},
    ),
    Program("levenshtein", 6, _word_inputs, _distances),
    Program("distinct_votes", 4, _vote_inputs, _votes, per_subgroup=True),
)

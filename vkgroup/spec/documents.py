"""Published documents, and quotations from them with their places."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Document:
    """One edition of a published document.

    Attributes
    ----------
    name : its name, ``"KHR_shader_subgroup"``.
    revision : the revision that is quoted.
    date : of that revision, year-month-day.
    """

    name: str
    revision: int
    date: str


@dataclass(frozen=True)
class Sentence:
    """The words that define a built-in.

    Attributes
    ----------
    document : where they are from.
    section : its number; of a SPIR-V extension also the instruction's name.
    text : the words, verbatim, with line breaks joined.
    """

    document: Document
    section: str
    text: str

    @property
    def place(self) -> str:
        """Document, revision and section: ``"KHR_shader_subgroup, revision 6, section 8.18"``."""
        return f"{self.document.name}, revision {self.document.revision}, section {self.section}"


KHR_SHADER_SUBGROUP = Document("KHR_shader_subgroup", 6, "2018-02-28")
KHR_SHADER_SUBGROUP_ROTATE = Document("KHR_shader_subgroup_rotate", 1, "2024-02-06")
NV_SHADER_SUBGROUP_PARTITIONED = Document("NV_shader_subgroup_partitioned", 1, "2018-03-16")
EXT_SHADER_QUAD_CONTROL = Document("EXT_shader_quad_control", 1, "2024-01-25")
NV_SHADER_THREAD_GROUP = Document("NV_shader_thread_group", 4, "2015-07-21")
SPV_KHR_SHADER_BALLOT = Document("SPV_KHR_shader_ballot", 11, "2016-10-18")
SPV_KHR_SUBGROUP_VOTE = Document("SPV_KHR_subgroup_vote", 6, "2016-10-05")
SPV_KHR_SUBGROUP_ROTATE = Document("SPV_KHR_subgroup_rotate", 1, "2022-03-02")

"""Exports of a run: JUnit, tables, baselines, annotations, and the files of its folder."""

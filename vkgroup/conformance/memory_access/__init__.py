"""The family of pointers and memory of newer extensions."""

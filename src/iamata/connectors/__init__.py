"""Bytes in, statements and passages out: one package a format, none of which knows another."""

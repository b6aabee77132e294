"""Engines: plans into exact statistics."""

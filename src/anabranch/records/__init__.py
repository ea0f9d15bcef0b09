"""Record batches of format v2: read, checked, patched, decoded and built; no I/O."""

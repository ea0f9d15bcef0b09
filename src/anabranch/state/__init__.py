"""What a link keeps in compacted topics on the target: the records' bytes, the topics, and the maps that they hold."""

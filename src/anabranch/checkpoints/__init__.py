"""Positions inside the checkpoints of stream engines: read, translated for another cluster, written back.

Pure: bytes and listings come in through ``ports.Files``, and what would be written goes out as values. A format is a
package (``spark``, ``flink``) whose ``open_checkpoint`` gives a ``job.Checkpoint``, or None for what is of another one.
"""

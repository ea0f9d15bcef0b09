"""The maps of topics that another tool copied, made from contents on Spark; ``anabranch.offsets.align`` decides."""

"""The map of a lane that another tool copied, from the contents of both logs alone; what content cannot tell is told.

    anchors    a content that lies in the source once; its last copy is the one to keep          (islands)
    chain      islands of anchors that rise on both sides; where the mirror went back and copied
               again, the later copy stands and the earlier one is foreign                       (islands)
    places     between anchors of the same distance, contents are held against each other
               place by place                                                                    (places)
    gaps       what lies between two anchors and does not fit: certain where just one
               order-preserving way is possible, else unclear                                    (gaps)
    map        ranges, and the unclear spans in which no position is given                     (lane)

All functions are pure; ``anabranch.spark.align`` feeds them from Spark, so that records never meet in one place.
"""

"""The real worker, planner and connections, unchanged, on simulated clusters with a simulated clock and network.

Everything happens on one scheduler that draws its choices from a seed: which process goes on, how long bytes take, what
fails and when.  So a run of minutes takes a fraction of a second, and a seed that found something finds it again:

    python -m qa.simulation --seeds 1000
    python -m qa.simulation --seed 4711 --trace
"""

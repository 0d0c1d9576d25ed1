"""Evidence channel: entities are compared by the dated facts they share.

What a round compares (`tokens`), whom with whom (`candidates`), which relations say the same (`relations`) and what
stands two hops away (`context`). The rounds themselves are `dualmatch.evidence`.
"""

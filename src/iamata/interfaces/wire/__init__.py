"""How do the nouns look in JSON? Pure functions from model values to the contract's shapes and back.

`ids` names · `lists` closed lists · `values` leaves · `origins` who and where · `payloads` facts and events ·
`view` one graph, indexed · `nodes`, `edges` the graph's types · `patients receipts sessions reports answers` the rest ·
`requests` what callers send · `failures` what they are told when something goes wrong. Knows no HTTP.
"""

"""Many recordings of one job: what each rank contributes, and which rank is a straggler."""

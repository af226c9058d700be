"""Recording a program with nsys: what this machine can do, the plan, the run, and what it leaves."""

"""One file per scenario, with a `Scenario` as `SCENARIO`."""

-- One row per claimed job (kind 'j'), one per refused settlement (kind 's'), one per run whose job would have
-- continued and is cancelled (kind 'x'), and one with the clock and, when nothing was claimed,
-- when to claim again (kind 'c': visible_at = now, run_at = next due). Columns that few jobs use are in
-- `extras`, null when there are none.
create type oncue.work_row as (
  kind "char", {{claim_types}}, extras json
);

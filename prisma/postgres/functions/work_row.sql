-- One row a claimed job (kind 'j'), one row a settle that was refused (kind 's'), one row a run after which
-- the job was to go on and is cancelled (kind 'x'), and one that carries the clock and, when nothing was claimed,
-- when to look again (kind 'c': visible_at = now, run_at = next due). What most jobs do not have travels in
-- `extras`, null when there is nothing.
create type oncue.work_row as (
  kind "char", {{claim_types}}, extras json
);

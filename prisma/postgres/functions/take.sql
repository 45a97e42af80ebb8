-- Claims jobs that are locked by the caller. The first p_start count as started; the others are prefetched. They are
-- returned in the order of the table: sorting a few hundred is cheaper in the client than keeping their order here
-- (measured: an eighth of the claim).
create function oncue.take(p_now timestamptz, p_until timestamptz, p_worker uuid, p_rows tid[], p_start integer)
  returns setof oncue.work_row
  language plpgsql
as $$
declare
  v_started constant tid[] := p_rows[1:p_start];
begin
  return query
  update oncue.jobs j set
    status = 'processing', locked_until = p_until, locked_by = p_worker, run = j.run + 1,
    started_at = case when p_start >= cardinality(p_rows) or j.ctid = any (v_started) then p_now end
  where j.ctid = any (p_rows)
  returning 'j'::"char", {{claim_values}},
    case when num_nonnulls({{extra_values}}) > 0 then json_build_object({{extra_entries}}) end;
end $$;

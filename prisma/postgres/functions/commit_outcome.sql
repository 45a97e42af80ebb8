-- Records the result of a commit as the last statement of the caller's own transaction: the lock on the job lasts until its
-- end, so no other run can begin before it is known what became of it. Returns `recorded`; otherwise the caller rolls
-- back: `known` if an earlier transaction recorded it, `stale` if the run has lost its job. At any isolation level: what a
-- snapshot does not show ends in a serialization failure.
create function oncue.commit_outcome(
  p_now timestamptz, p_id uuid, p_run integer, p_worker uuid, p_key text, p_data json
) returns text
  language plpgsql
as $$
begin
  perform from oncue.jobs j
  where j.id = p_id and j.run = p_run and j.status = 'processing' and (p_worker is null or j.locked_by = p_worker)
  for no key update;
  if not found then return 'stale'; end if;
  insert into oncue.outcomes (job_id, key, seq, kind, data, created)
  select p_id, p_key,
    1 + coalesce((select o.seq from oncue.outcomes o where o.job_id = p_id order by o.seq desc limit 1), 0),
    'step', p_data, coalesce(p_now, oncue.clock())
  on conflict do nothing;
  return case when found then 'recorded' else 'known' end;
end $$;

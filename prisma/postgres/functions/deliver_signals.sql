-- planner: none
-- Records the signals that were sent to a job, in the order in which they were sent, as far as they are committed. The
-- job's row is locked by the caller: so the numbers of outcomes have no rival. A key that was delivered before is dropped.
create function oncue.deliver_signals(p_now timestamptz, p_id uuid) returns void
  language plpgsql
as $$
begin
  if not exists (select from oncue.signals s where s.job_id = p_id) then return; end if;
  with sent as (
    delete from oncue.signals s where s.job_id = p_id returning s.*
  )
  insert into oncue.outcomes (job_id, key, seq, kind, name, data, created)
  select p_id, 'signal:' || s.name || ':' || coalesce('key:' || s.key, s.id::text),
    coalesce((select o.seq from oncue.outcomes o where o.job_id = p_id order by o.seq desc limit 1), 0)
      + row_number() over (order by s.created, s.id),
    'signal', s.name, s.data, p_now
  from sent s
  on conflict do nothing;
end $$;

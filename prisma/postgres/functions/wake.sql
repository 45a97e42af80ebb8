-- planner: none
-- Resumes a suspended job for which a signal or an answer that it waits for, or the end of its children, is recorded. Its row is locked by the caller. A throttled
-- job is left alone: it is due, and waits for a slot.
create function oncue.wake(p_now timestamptz, p_id uuid) returns void
  language plpgsql
as $$
declare
  v_queue text;
begin
  -- Visible from now on, never earlier, so that claims that start at a low-water mark find it.
  update oncue.jobs j set
    status = 'pending', run_at = p_now, visible_at = p_now, updated = p_now, waits = '{"for":[]}'
  where j.id = p_id and j.waits is not null and (j.status = 'blocked' or j.status = 'pending' and j.visible_at > p_now)
    and exists (
      select from json_to_recordset(j.waits -> 'for') as w(kind text, name text, key text, after integer)
      where w.kind = 'signal' and exists (
          select from oncue.outcomes o
          where o.job_id = p_id and o.seq > w.after and o.kind = 'signal' and o.name = w.name)
        or w.kind = 'ask' and exists (select from oncue.outcomes o where o.job_id = p_id and o.key = 'ask:' || w.name)
        or w.kind = 'children' and exists (select from oncue.outcomes o where o.job_id = p_id and o.key = w.key))
  returning j.queue into v_queue;
  if found then
    perform pg_notify('oncue', v_queue);
  end if;
end $$;

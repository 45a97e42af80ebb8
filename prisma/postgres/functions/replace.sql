-- Gives a waiting job another payload, time, priority, meta and trace. It is new work: the state of the earlier run
-- is reset, and its steps end with the event. The row is locked by the caller.
create function oncue.replace(
  p_now timestamptz, p_id uuid, p_due timestamptz, p_big text, {{replace_parameters}}
) returns void
  language plpgsql
as $$
begin
  perform oncue.forget_meta(array_agg(j.id)) from oncue.jobs j
    where j.id = p_id and j.meta is distinct from p_meta::jsonb;
  update oncue.jobs j set
    {{replace_changes}}, cursor = null, progress = null, run_at = p_due, updated = p_now,
    -- A job that is throttled by a full concurrency key stays so only if it is due: freeing a slot does not check that.
    visible_at = case when j.status = 'blocked' or j.visible_at is null and p_due <= p_now then null else p_due end
  where j.id = p_id;
  perform oncue.index_meta(p_id);
  delete from oncue.payloads p where p.job_id = p_id and p.part = 'payload';
  if p_big is not null then
    insert into oncue.payloads (job_id, part, data) values (p_id, 'payload', p_big::json);
  end if;
  -- Signals that were sent before the first run are still to be received.
  delete from oncue.outcomes o
    where o.job_id = p_id and (o.kind <> 'signal' or exists (select from oncue.jobs j where j.id = p_id and j.run > 0));
  delete from oncue.asks a where a.job_id = p_id;
  perform oncue.append_event(p_now, array[p_id], 'replaced', array[null::json]);
end $$;

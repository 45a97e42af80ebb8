-- planner: none
-- Puts jobs that have ended badly and registered undos back into their queues, to be undone. Their rows are locked by the
-- caller. How each must end is kept in `ending`. Undoing has retries and crashes of its own, and whatever a job waited for
-- no longer counts.
create function oncue.begin_undo(p_now timestamptz, p_ids uuid[], p_statuses text[], p_errors json[]) returns void
  language plpgsql
as $$
begin
  -- Visible from now on, never earlier, so that claims that start at a low-water mark find it.
  update oncue.jobs j set
    status = 'pending', run_at = p_now, visible_at = p_now, updated = p_now, waits = null, retries = 0, crashes = 0,
    locked_until = null, locked_by = null, started_at = null, cancel_at = null, replaced_by = null,
    last_error = coalesce(u.error, j.last_error), fingerprint = coalesce(u.error ->> 'fingerprint', j.fingerprint),
    ending = json_strip_nulls(json_build_object('since', oncue.iso_time(p_now), 'status', u.status,
      'error', coalesce(u.error, j.last_error), 'fingerprint', coalesce(u.error ->> 'fingerprint', j.fingerprint)))
  from unnest(p_ids, p_statuses, p_errors) as u(id, status, error)
  where j.id = any (array[u.id]);
  delete from oncue.child_waits w where w.parent_id = any (p_ids);
  update oncue.asks a set closed = p_now where a.job_id = any (p_ids) and a.closed is null;
  -- That of a run that failed is told by its own event.
  perform oncue.append_event(p_now, p_ids, 'undoing', (
    select array_agg(json_strip_nulls(json_build_object('status', u.status,
      'error', case when u.status = 'cancelled' then u.error end)) order by u.n)
    from unnest(p_statuses, p_errors) with ordinality as u(status, error, n)));
  perform pg_notify('oncue', q.queue) from (select distinct j.queue from oncue.jobs j where j.id = any (p_ids)) q;
end $$;

-- Requeues one job with another payload, if it still is as the caller saw it: after this run, and not changed since. A finished
-- job goes back as by a requeue; one that waits for its retry is due at once, with all its retries. Of its steps and
-- cursor stays what stays by a requeue. Waits for the row: whatever another caller does to the job meanwhile counts. Returns `done`, or why not.
create function oncue.requeue_with_payload(
  p_now timestamptz, p_id uuid, p_run integer, p_updated timestamptz, p_payload text, p_big text, p_by text, p_paths text
) returns text
  language plpgsql
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_job oncue.jobs;
  v_reason text;
begin
  select j.* into v_job from oncue.jobs j where j.id = p_id for update;
  if found then
    if v_job.run <> p_run or v_job.updated <> p_updated then
      return 'CHANGED';
    elsif v_job.status <> 'pending' or v_job.visible_at is null or v_job.fingerprint is null
        or v_job.waits is not null or v_job.ending ->> 'status' is not null then
      return 'INVALID_STATE';
    end if;
    -- Visible from now on, never earlier: claims that start at a low-water mark find it.
    update oncue.jobs j set retries = 0, crashes = 0, fingerprint = null, run_at = v_now, visible_at = v_now, updated = v_now
    where j.id = p_id;
    perform oncue.forget_undecided(v_now, array[p_id]);
    perform pg_notify('oncue', v_job.queue);
    perform oncue.append_event(v_now, array[p_id], 'requeued', array[json_build_object('by', p_by)]);
  else
    perform from oncue.history h
    where h.id = p_id and h.run = p_run and h.finished_at = p_updated for no key update;
    if not found then
      return case when exists (select from oncue.history h where h.id = p_id)
        or exists (select from oncue.jobs j where j.id = p_id) then 'CHANGED' else 'JOB_NOT_FOUND' end;
    end if;
    select r.reason into v_reason from oncue.requeue(v_now, array[p_id], null, p_by) r where r.count > 0;
    if v_reason <> 'done' then
      return v_reason;
    end if;
  end if;
  update oncue.jobs j set payload = p_payload::json where j.id = p_id;
  delete from oncue.payloads p where p.job_id = p_id and p.part = 'payload';
  if p_big is not null then
    insert into oncue.payloads (job_id, part, data) values (p_id, 'payload', p_big::json);
  end if;
  perform oncue.append_event(v_now, array[p_id], 'payload_changed',
    array[json_build_object('by', p_by, 'paths', p_paths::json)]);
  return 'done';
end $$;

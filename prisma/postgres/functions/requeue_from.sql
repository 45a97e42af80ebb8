-- Requeues one finished job that forgets a step and everything that was recorded after it, or, without a step, all that was
-- recorded, its cursor and its progress. Children that were spawned since are no longer its own, and what it asked since is
-- asked anew. Returns `done`, or why nothing was changed.
create function oncue.requeue_from(p_now timestamptz, p_id uuid, p_step text, p_by text) returns text
  language plpgsql
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_seq integer;
  v_reason text;
begin
  perform from oncue.history h where h.id = p_id for no key update;
  if not found then
    return case when exists (select from oncue.jobs j where j.id = p_id) then 'INVALID_STATE' else 'JOB_NOT_FOUND' end;
  end if;
  if p_step is not null then
    select o.seq into v_seq from oncue.outcomes o where o.job_id = p_id and o.key = 'step:' || p_step;
    if not found then
      return 'STEP_NOT_FOUND';
    end if;
  end if;
  begin
    -- What was undone goes too, as with every requeue: it must not be kept without the record of its undo.
    perform oncue.forget_undecided(v_now, array[p_id]);
    -- First, so that children that it forgets are not requeued with it.
    perform oncue.forget_from(p_id, coalesce(v_seq, 0));
    select r.reason into v_reason from oncue.requeue(v_now, array[p_id], null, p_by) r where r.count > 0;
    if v_reason <> 'done' then
      raise exception using errcode = 'OQ001';
    end if;
  exception when sqlstate 'OQ001' then
    return v_reason;
  end;
  if p_step is null then
    update oncue.jobs j set cursor = null, progress = null where j.id = p_id;
  end if;
  perform oncue.append_event(v_now, array[p_id], 'steps_forgotten', array[json_build_object('by', p_by, 'from', p_step)]);
  return 'done';
end $$;

-- Delivers the signals that were sent to jobs: a short transaction of its own, so that a sender's transaction locks no job.
-- With p_id to one job, waiting for its row; otherwise to all that have some, except those whose rows are locked: they are
-- left for the next delivery. Signals to a job that has ended meanwhile are recorded for its requeue; those to
-- one that is gone are dropped.
create function oncue.deliver(p_now timestamptz, p_id uuid default null) returns void
  language plpgsql
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_id uuid;
begin
  if p_id is not null then
    perform from oncue.jobs j where j.id = p_id for no key update;
    if found then
      perform oncue.deliver_signals(v_now, p_id);
      perform oncue.wake(v_now, p_id);
    end if;
    return;
  end if;
  for v_id in select distinct s.job_id from oncue.signals s limit 1000 loop
    -- Delivered meanwhile by another: a claim that comes now must not find the row locked.
    continue when not exists (select from oncue.signals s where s.job_id = v_id);
    perform from oncue.jobs j where j.id = v_id for no key update skip locked;
    if found then
      perform oncue.deliver_signals(v_now, v_id);
      perform oncue.wake(v_now, v_id);
    elsif not exists (select from oncue.jobs j where j.id = v_id) then
      perform from oncue.history h where h.id = v_id for no key update skip locked;
      if found then
        perform oncue.deliver_signals(v_now, v_id);
      else
        -- One statement, so that a job that is requeued meanwhile is seen in one place.
        delete from oncue.signals s where s.job_id = v_id
          and not exists (select from oncue.jobs j where j.id = v_id)
          and not exists (select from oncue.history h where h.id = v_id);
      end if;
    end if;
  end loop;
end $$;

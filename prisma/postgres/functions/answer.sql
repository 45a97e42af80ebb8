-- Answers a question of a live job, and resumes the job if it is suspended. p_data is {value, by, key}. False: the
-- question is not open.
create function oncue.answer(p_now timestamptz, p_id uuid, p_name text, p_data json) returns boolean
  language plpgsql
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform oncue.refuse_isolation();
  end if;
  perform from oncue.jobs j where j.id = p_id for no key update;
  if not found then return false; end if;
  update oncue.asks a set closed = v_now where a.job_id = p_id and a.name = p_name and a.closed is null;
  if not found then return false; end if;
  insert into oncue.outcomes (job_id, key, seq, kind, name, data, created)
  select p_id, 'ask:' || p_name,
    1 + coalesce((select o.seq from oncue.outcomes o where o.job_id = p_id order by o.seq desc limit 1), 0),
    'answer', p_name, p_data, v_now;
  perform oncue.wake(v_now, p_id);
  return true;
end $$;

-- Takes a key for a job, or returns the job that holds it. Waits for a transaction that is about to take it. For a caller
-- that replaces, the job that holds it and then the key are locked, in the order of a settle.
create function oncue.take_key(
  p_now timestamptz, p_topic text, p_key text, p_id uuid, p_ms bigint, p_replaces boolean
) returns oncue.keys
  language plpgsql
as $$
declare
  v_until constant timestamptz := p_now + p_ms * interval '1 millisecond';
  v_key oncue.keys;
begin
  for v_try in 1..100 loop
    insert into oncue.keys (topic, key, job_id, until) values (p_topic, p_key, p_id, v_until)
      on conflict do nothing returning * into v_key;
    if found then return v_key; end if;
    select * into v_key from oncue.keys k where k.topic = p_topic and k.key = p_key;
    continue when not found;
    if v_key.until <= p_now then
      update oncue.keys k set job_id = p_id, until = v_until
        where k.topic = p_topic and k.key = p_key and k.until <= p_now returning * into v_key;
      if found then return v_key; end if;
      continue;
    end if;
    if not p_replaces or v_key.job_id = p_id then return v_key; end if;
    perform from oncue.jobs j where j.id = v_key.job_id for update;
    select * into v_key from oncue.keys k
      where k.topic = p_topic and k.key = p_key and k.job_id = v_key.job_id and (k.until is null or k.until > p_now)
      for update;
    if found then return v_key; end if;
  end loop;
  raise exception 'Too many concurrent changes of the holder of key %', p_key using errcode = 'serialization_failure';
end $$;

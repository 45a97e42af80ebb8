-- Gives back the slots of runs that ended. Does nothing, without a lookup, where nothing is limited.
create function oncue.free_slots(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
as $$
declare
  v_keys text[];
  v_waiting text[];
  v_key text;
  v_count integer;
begin
  -- Checked by its size: a search for a first row would walk rows that vacuum has not removed yet.
  if pg_relation_size('oncue.slot_runs') = 0 then return; end if;
  with freed as (
    delete from oncue.slot_runs r where r.job_id = any (p_ids) returning r.key
  )
  select array_agg(key order by key) into v_keys from freed where key like 'k:%';
  if v_keys is null then return; end if;
  -- Waits for claims that have locked this key, so that the jobs they throttle are seen and promoted.
  select array_agg(l.key) into v_waiting
    from (select s.key, s.waiting from oncue.slots s where s.key = any (v_keys) order by s.key for update) l
    where l.waiting;
  for v_key, v_count in
    select k, count(*) from unnest(v_keys) as k where k = any (v_waiting) group by k order by k
  loop
    perform oncue.promote(p_now, p_now, v_key, v_count, null);
  end loop;
end $$;

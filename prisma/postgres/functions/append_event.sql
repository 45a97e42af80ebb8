-- Appends an event to the stream of each job. If another writer takes the version first, the next
-- version is tried.
create function oncue.append_event(p_now timestamptz, p_ids uuid[], p_type text, p_data json[]) returns void
  language plpgsql
as $$
declare
  v_ids uuid[] := p_ids;
  v_data json[] := p_data;
begin
  for v_try in 1..100 loop
    exit when coalesce(cardinality(v_ids), 0) = 0;
    with wanted as (
      select w.id, w.data, 1 + coalesce(
        (select e.version from oncue.events e where e.job_id = w.id order by e.version desc limit 1), 0) as version
      from unnest(v_ids, v_data) as w(id, data)
    ), written as (
      insert into oncue.events (job_id, version, type, data, created)
      select w.id, w.version, p_type, w.data, p_now from wanted w
      on conflict (job_id, version) do nothing
      returning job_id
    )
    select coalesce(array_agg(w.id), '{}'), array_agg(w.data) into v_ids, v_data
    from wanted w where w.id not in (select job_id from written);
  end loop;
  if cardinality(v_ids) > 0 then
    raise exception 'Too many concurrent appends to the events of job %', v_ids[1] using errcode = 'serialization_failure';
  end if;
end $$;

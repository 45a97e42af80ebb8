create function oncue.delete(p_now timestamptz, p_ids uuid[], p_as_of timestamptz)
  returns table (reason text, count integer)
  language plpgsql
as $$
#variable_conflict use_column
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_live uuid[];
  v_done uuid[];
begin
  select array_agg(l.id) into v_live from (
    select j.id from oncue.jobs j
    where j.id = any (p_ids) and j.status = 'pending' and j.waits is null and j.ending is null
      and (p_as_of is null or j.created <= p_as_of and not oncue.requeued_since(j, p_as_of))
      and not exists (select from oncue.deps d where d.parent_id = any (array[j.id]))
      and not oncue.has_live_parent(j.id) and not oncue.is_awaited(j.id)
    for update skip locked
  ) l;
  -- Checked again, now that the rows are locked: an edge may have been committed and checked meanwhile.
  v_live := array(select unnest(v_live) except select d.parent_id from oncue.deps d where d.parent_id = any (v_live));
  perform oncue.forget_meta(v_live);
  delete from oncue.jobs j where j.id = any (v_live);
  perform from oncue.history h where h.id = any (p_ids) and h.status::text = 'failed' order by h.id for update;
  with gone as (
    delete from oncue.history h
    where h.id = any (p_ids) and h.status::text = 'failed' and (p_as_of is null or h.finished_at <= p_as_of)
      and not exists (select from oncue.deps d where d.parent_id = any (array[h.id]))
      and not oncue.has_live_parent(h.id) and not oncue.is_awaited(h.id)
    returning h.*
  ), metas as (
    delete from oncue.job_meta m using (
      select e.key, e.value, o.created, o.id from gone o, oncue.meta_entries(o.meta) e offset 0
    ) g
    where m.key = any (array[g.key]) and m.value = any (array[g.value]) and m.created = any (array[g.created])
      and m.job_id = any (array[g.id])
  ), counted as (
    insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
    select gen_random_uuid(), date_trunc('minute', v_now), g.queue, g.topic, 0, -count(*), 0, '', '', 0 from gone g group by g.queue, g.topic
  )
  select coalesce(array_agg(g.id), '{}') || v_live into v_done from gone g;
  perform oncue.forget(v_now, v_done);
  return query select 'done', cardinality(v_done);
  return query
  select s.reason, count(*)::integer from (
    select case
      when not exists (select from oncue.jobs j where j.id = any (array[i.id]))
        and not exists (select from oncue.history h where h.id = any (array[i.id]))
        then 'JOB_NOT_FOUND'
      when exists (select from oncue.deps d where d.parent_id = any (array[i.id])) or oncue.has_live_parent(i.id)
        or oncue.is_awaited(i.id)
        then 'HAS_DEPENDANTS'
      when exists (
          select from oncue.jobs j where j.id = any (array[i.id]) and j.status = 'pending' and j.waits is null and j.ending is null
            and (j.created > p_as_of or oncue.requeued_since(j, p_as_of)))
        or exists (
          select from oncue.history h where h.id = any (array[i.id]) and h.status::text = 'failed' and h.finished_at > p_as_of)
        then 'CHANGED'
      else 'INVALID_STATE' end as reason
    from unnest(p_ids) as i(id) where i.id <> all (v_done)
  ) s group by s.reason;
end $$;

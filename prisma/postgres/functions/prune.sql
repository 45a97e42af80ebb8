-- Removes up to p_limit finished jobs of one queue and topic that are older than p_before, oldest
-- first. A failed parent that others wait for is kept, and the children of live jobs.
create function oncue.prune(
  p_now timestamptz, p_queue text, p_topic text, p_status oncue."Status", p_before timestamptz, p_limit integer
) returns integer
  language plpgsql
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_ids uuid[];
begin
  -- Twice, because a plan for every status could use neither of the two partial indexes.
  if p_status = 'completed' then
    select array_agg(o.id) into v_ids from (
      select h.id from oncue.history h
      where h.status = 'completed' and h.queue = p_queue and h.topic = p_topic
        and (hashtext(h.queue) >> 24)::"char" = (hashtext(p_queue) >> 24)::"char"
        and h.created < p_before and h.finished_at < p_before
        and not exists (select from oncue.deps d where d.parent_id = any (array[h.id]))
        and not oncue.has_live_parent(h.id) and not oncue.is_awaited(h.id)
      order by h.created, h.id limit p_limit
      for update skip locked
    ) o;
  else
    select array_agg(o.id) into v_ids from (
      select h.id from oncue.history h
      where h.status <> 'completed' and h.status = p_status and h.queue = p_queue and h.topic = p_topic
        and h.created < p_before and h.finished_at < p_before
        and not exists (select from oncue.deps d where d.parent_id = any (array[h.id]))
        and not oncue.has_live_parent(h.id) and not oncue.is_awaited(h.id)
      order by h.created, h.id limit p_limit
      for update skip locked
    ) o;
  end if;
  -- Checked again, now that the rows are locked: an edge may have been committed and checked meanwhile.
  v_ids := array(select unnest(v_ids) except select d.parent_id from oncue.deps d where d.parent_id = any (v_ids));
  if cardinality(v_ids) = 0 then return 0; end if;
  perform oncue.forget_meta(v_ids);
  delete from oncue.history h where h.id = any (v_ids);
  perform oncue.forget(v_now, v_ids);
  insert into oncue.stat_deltas (id, minute, queue, topic, completed, failed, cancelled, waits, runs, run_ms)
    values (gen_random_uuid(), date_trunc('minute', v_now), p_queue, p_topic,
      case when p_status = 'completed' then -cardinality(v_ids) else 0 end,
      case when p_status = 'failed' then -cardinality(v_ids) else 0 end,
      case when p_status = 'cancelled' then -cardinality(v_ids) else 0 end, '', '', 0);
  return cardinality(v_ids);
end $$;

-- Removes what requeued jobs do not keep: finished steps, sleeps and signals stay. What went wrong, when waits end, and the
-- attempts of a step are decided anew. So are waits for children, which are requeued if they failed. Of a job that was
-- undone, everything goes that was recorded after its last undo that did not run, except signals; an event tells from which
-- step on.
create function oncue.forget_undecided(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
as $$
declare
  v_ids uuid[];
  v_lasts integer[];
  v_first uuid[];
  v_data json[];
begin
  delete from oncue.outcomes o
  where o.job_id = any (p_ids)
    and (o.kind in ('step_failed', 'timeout', 'wait', 'children')
      or o.kind = 'timer' and (o.key like 'retry:%' or o.key like 'undo_retry:%'));
  v_ids := array(select distinct o.job_id from oncue.outcomes o where o.job_id = any (p_ids) and o.kind = 'undone');
  if v_ids <> '{}' then
    v_lasts := array(
      select coalesce((
        select max(u.seq) from oncue.outcomes u
        where u.job_id = i.id and u.kind = 'undo' and not exists (
          select from oncue.outcomes d where d.job_id = u.job_id and d.key = 'undone:' || substr(u.key, 6))), 0)
      from unnest(v_ids) with ordinality as i(id, n) order by i.n);
    select array_agg(i.id), array_agg(json_build_object('by', null, 'from', substr(f.key, 6))) into v_first, v_data
      from unnest(v_ids, v_lasts) as i(id, last)
      cross join lateral (
        select o.key from oncue.outcomes o
        where o.job_id = i.id and o.kind = 'step' and o.seq > i.last order by o.seq limit 1) f;
    if v_first is not null then
      perform oncue.append_event(p_now, v_first, 'steps_forgotten', v_data);
    end if;
    delete from oncue.outcomes o using unnest(v_ids, v_lasts) as i(id, last)
    where o.job_id = any (array[i.id]) and o.kind <> 'signal' and o.seq > i.last;
    -- Their spawns are made again.
    delete from oncue.children c
    where c.parent_id = any (v_ids) and not exists (
      select from oncue.outcomes o, json_object_keys(o.data) as k(key)
      where o.job_id = c.parent_id and o.kind = 'spawn' and k.key = c.key);
  end if;
  update oncue.jobs j set ending = '{}'
  where j.id = any (p_ids) and j.ending is null
    and exists (select from oncue.outcomes o where o.job_id = j.id and o.kind = 'undo');
end $$;

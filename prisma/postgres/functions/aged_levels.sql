-- planner: enable_seqscan = off, enable_bitmapscan = off, jit = off
-- The levels that ageing serves first: waiting for ageing_ms counts as much as one step of priority. For each priority,
-- up to `due`: the jobs that have waited long enough to come before those of the next level.
create function oncue.aged_levels(p_now timestamptz, p_queue text, p_ageing_ms integer,
    out priorities smallint[], out dues timestamptz[])
  language sql stable
begin atomic
  with recursive level as (
    (select j.priority, j.visible_at from oncue.jobs j
     where j.queue = p_queue and j.visible_at is not null and j.status = 'pending'
     order by j.priority desc, j.visible_at limit 1)
    union all
    select n.priority, n.visible_at from level l, lateral (
      select j.priority, j.visible_at from oncue.jobs j
      where j.queue = p_queue and j.visible_at is not null and j.priority < l.priority and j.status = 'pending'
      order by j.priority desc, j.visible_at limit 1) n
  ), aged as (
    select l.priority, l.priority + extract(epoch from p_now - l.visible_at) * 1000 / p_ageing_ms as rank
    from level l where l.visible_at <= p_now
  ), ordered as (
    select a.priority, row_number() over w as n,
      coalesce(p_now - greatest(0, lead(a.rank) over w - a.priority) * p_ageing_ms * interval '1 millisecond', p_now) as due
    from aged a window w as (order by a.rank desc, a.priority desc)
  )
  select array_agg(o.priority order by o.n), array_agg(o.due order by o.n) from ordered o;
end;

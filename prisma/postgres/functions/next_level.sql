-- planner: none
-- The next lower priority of a queue, and the mark from which to read it: one that the caller has a mark for, or a new
-- one above that. It steps from one distinct priority to the next, so that a million jobs scheduled at a high priority
-- are not walked to find a ready one at a low priority.
--
-- Plain SQL, which the planner inlines into the calling statement: a call of PL/pgSQL would be a fifth of an idle claim.
create function oncue.next_level(
  p_queue text, p_below integer,
  p_mark_queue text[], p_mark_priority smallint[], p_mark_at timestamptz[], p_mark_id uuid[])
  returns table (priority smallint, mark_at timestamptz, mark_id uuid)
  language sql
  stable
as $$
  select coalesce(n.priority, m.priority), coalesce(k.at, '-infinity'), coalesce(k.id, '00000000-0000-0000-0000-000000000000')
  from (
    select max(k.priority) as priority from unnest(p_mark_queue, p_mark_priority) as k(queue, priority)
    where k.queue = p_queue and k.priority < p_below
  ) m
  left join lateral (
    select j.priority from oncue.jobs j
    where j.queue = p_queue and j.visible_at is not null
      and j.priority < p_below and j.priority > coalesce(m.priority, -32769)
    order by j.priority desc limit 1
  ) n on true
  left join lateral unnest(p_mark_queue, p_mark_priority, p_mark_at, p_mark_id) as k(queue, priority, at, id)
    on n.priority is null and k.queue = p_queue and k.priority = m.priority
$$;

-- The next lower priority of a queue, and the mark from which to read it: one that the caller has a mark for, or a new
-- one above that. It steps from one distinct priority to the next, so that a million jobs scheduled at a high priority
-- are not walked to find a ready one at a low priority.
create function oncue.next_level(
  p_now timestamptz, p_queue text, p_below integer,
  p_mark_queue text[], p_mark_priority smallint[], p_mark_at timestamptz[], p_mark_id uuid[],
  out priority smallint, out due timestamptz, out mark_at timestamptz, out mark_id uuid)
  language plpgsql
as $$
declare
  v_known smallint;
begin
  due := p_now;
  select m.priority, m.at, m.id into v_known, mark_at, mark_id
    from unnest(p_mark_queue, p_mark_priority, p_mark_at, p_mark_id) as m(queue, priority, at, id)
    where m.queue = p_queue and m.priority < p_below
    order by m.priority desc limit 1;
  select j.priority into priority from oncue.jobs j
    where j.queue = p_queue and j.visible_at is not null
      and j.priority < p_below and j.priority > coalesce(v_known, -32769)
    order by j.priority desc limit 1;
  if found then
    mark_at := '-infinity';
    mark_id := '00000000-0000-0000-0000-000000000000';
  else
    priority := v_known;
  end if;
end $$;

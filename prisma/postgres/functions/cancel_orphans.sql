-- Cancels the children of jobs that were cancelled: those of p_parents, or all that were left over. Returns which have ended;
-- the caller handles their dependants. Running ones are asked to stop. Locked ones, which are being claimed or settled, are
-- left for the next poll: the settle of a child waits for its parent.
create function oncue.cancel_orphans(p_now timestamptz, p_parents uuid[] default null) returns uuid[]
  language plpgsql
as $$
declare
  v_orphans uuid[];
  v_waiting uuid[];
  v_running uuid[];
  v_event constant json := '{"by":null,"reason":"its parent was cancelled"}';
begin
  if p_parents is not null then
    update oncue.children c set orphaned = true
    from oncue.history h
    where c.parent_id = any (p_parents) and c.cancels and h.id = any (array[c.parent_id]) and h.status::text = 'cancelled';
    if not found then return '{}'; end if;
  end if;
  v_orphans := array(
    select c.child_id from oncue.children c
    where c.orphaned and (p_parents is null or c.parent_id = any (p_parents)) limit 10000);
  select array_agg(l.id) filter (where l.status <> 'processing'), array_agg(l.id) filter (where l.status = 'processing')
    into v_waiting, v_running
    from (
      select j.id, j.status from oncue.jobs j
      -- Not a job of someone else that the parent found by a unique key.
      where j.id = any (v_orphans) and exists (
        select from oncue.children c where c.child_id = j.id and c.parent_id = j.parent_id and c.orphaned)
        and j.ending ->> 'status' is null
      for update skip locked
    ) l;
  if v_running is not null then
    perform oncue.append_event(p_now, v_running, 'cancel_requested', (select array_agg(v_event) from unnest(v_running)));
    update oncue.jobs j set cancel_at = p_now, updated = p_now where j.id = any (v_running);
  end if;
  if v_waiting is not null then
    perform oncue.append_event(p_now, v_waiting, 'cancelled', (select array_agg(v_event) from unnest(v_waiting)));
    v_waiting := oncue.end_rows(p_now, v_waiting, 'cancelled', null);
  end if;
  update oncue.children c set orphaned = false
  where c.orphaned and c.child_id = any (v_orphans)
    and (c.child_id = any (v_running) or not exists (
      select from oncue.jobs j
      where j.id = any (array[c.child_id]) and j.parent_id = c.parent_id and j.ending ->> 'status' is null));
  return coalesce(v_waiting, '{}');
end $$;

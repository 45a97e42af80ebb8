-- planner: none
-- Wakes the suspended parents whose awaited children have all ended, now that p_ids have. Their rows are locked by the
-- caller.
create function oncue.wake_parents(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
as $$
declare
  v_parents uuid[];
  v_waits text[];
  v_over record;
begin
  with met as (
    delete from oncue.child_waits w where w.child_id = any (p_ids) returning w.parent_id, w.wait
  )
  select array_agg(m.parent_id), array_agg(m.wait) into v_parents, v_waits
    from (select distinct m.parent_id, m.wait from met m) m;
  if v_parents is null then return; end if;
  for v_over in
    select m.parent_id, m.wait from unnest(v_parents, v_waits) as m(parent_id, wait)
    where exists (select from oncue.jobs j where j.id = any (array[m.parent_id]))
      and not exists (select from oncue.child_waits w where w.parent_id = m.parent_id and w.wait = m.wait)
  loop
    perform oncue.record_children(p_now, v_over.parent_id, v_over.wait);
    perform oncue.wake(p_now, v_over.parent_id);
  end loop;
end $$;

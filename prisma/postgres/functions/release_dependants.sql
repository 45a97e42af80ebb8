-- Releases or ends the dependants of parents that ended, and the dependants of those that end: in a loop instead of
-- recursion, because a chain may be longer than the stack is deep. The parents' rows are gone from the
-- live table. Dependants that keep waiting for a failed parent are not locked. The same for jobs that spawned those which
-- ended: they are woken if they wait for them; and the children of a cancelled job are cancelled. Not if the parents have ended
-- before, and only their edges are new: children that were requeued since have lives of their own.
create function oncue.release_dependants(
  p_now timestamptz, p_parents uuid[], p_completed boolean, p_ended_before boolean default false
) returns void
  language plpgsql
as $$
declare
  v_parents uuid[] := p_parents;
  v_met uuid[];
  v_stopped uuid[];
  v_cancelled uuid[];
  v_family constant boolean := exists (select from oncue.children);
  v_ended_before boolean := p_ended_before;
begin
  if not v_family and not exists (select from oncue.deps) then return; end if;
  while cardinality(v_parents) > 0 loop
    -- Sorted by id, because the last two parents of one job may end at the same moment.
    perform from oncue.jobs j
      where j.id = any (array(
        select d.job_id from oncue.deps d where d.parent_id = any (v_parents) and (p_completed or d.policy <> 'wait')
        union all select c.parent_id from oncue.children c where v_family and c.child_id = any (v_parents)))
      order by j.id for update;

    if v_family then
      perform oncue.wake_parents(p_now, v_parents);
    end if;
    with met as (
      delete from oncue.deps d
      where d.parent_id = any (v_parents) and (p_completed or d.policy = 'go_on')
      returning d.job_id
    )
    select array_agg(m.job_id) into v_met from met m;
    if v_met is not null then
      perform oncue.count_down(p_now, v_met);
    end if;
    exit when p_completed;

    select array_agg(distinct d.job_id) filter (where d.policy = 'stop'),
           array_agg(distinct d.job_id) filter (where d.policy = 'cancel')
      into v_stopped, v_cancelled
      from oncue.deps d where d.parent_id = any (v_parents) and d.policy in ('stop', 'cancel');
    v_parents := oncue.end_rows(p_now, v_stopped, 'failed', oncue.parent_failed())
      || oncue.end_rows(p_now, v_cancelled, 'cancelled', null)
      || case when v_family and not v_ended_before then oncue.cancel_orphans(p_now, v_parents) else '{}' end;
    v_ended_before := false;
  end loop;
end $$;

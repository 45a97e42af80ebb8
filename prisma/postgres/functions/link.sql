-- After jobs and their edges were written: refuses edges to unknown jobs, and resolves those to parents
-- that have ended already. Touches only edges of these jobs: other dependants of the same parents stay unlocked,
-- because the transaction may be the caller's and stay open for long.
create function oncue.link(p_now timestamptz, p_ids uuid[]) returns void
  language plpgsql
as $$
declare
  v_now constant timestamptz := coalesce(p_now, oncue.clock());
  v_unknown uuid;
  v_met uuid[];
  v_stopped uuid[];
  v_cancelled uuid[];
begin
  select d.parent_id into v_unknown from oncue.deps d
    where d.job_id = any (p_ids)
      and not exists (select from oncue.jobs j where j.id = any (array[d.parent_id]))
      and not exists (select from oncue.history h where h.id = any (array[d.parent_id]))
    limit 1;
  if found then
    raise exception 'There is no job % to wait for', v_unknown using errcode = 'OC002', detail = 'UNKNOWN_PARENT',
      hint = 'Enqueue the parent first, or in the same call.';
  end if;
  with met as (
    delete from oncue.deps d
    where d.job_id = any (p_ids) and exists (
      select from oncue.history h
      where h.id = any (array[d.parent_id]) and (h.status::text = 'completed' or d.policy = 'go_on'))
    returning d.job_id
  )
  select array_agg(m.job_id) into v_met from met m;
  if v_met is not null then
    perform oncue.count_down(v_now, v_met);
  end if;
  select array_agg(distinct d.job_id) filter (where d.policy = 'stop'),
         array_agg(distinct d.job_id) filter (where d.policy = 'cancel')
    into v_stopped, v_cancelled
    from oncue.deps d
    where d.job_id = any (p_ids) and d.policy in ('stop', 'cancel')
      and exists (select from oncue.history h where h.id = any (array[d.parent_id]));
  if v_stopped is not null or v_cancelled is not null then
    -- Only new jobs can wait for new jobs.
    perform oncue.release_dependants(v_now,
      oncue.end_rows(v_now, v_stopped, 'failed', oncue.parent_failed())
        || oncue.end_rows(v_now, v_cancelled, 'cancelled', null), false);
  end if;
end $$;

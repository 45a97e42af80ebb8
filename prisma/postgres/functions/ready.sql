-- planner: standard, enable_sort = off
-- Locks the next jobs of a level: `rows` may start, in claim order; the leases of `expired` have expired. `cleared`: jobs
-- were throttled, so that a second search finds others. `again`: when to claim jobs that were left alone.
create function oncue.ready(
  p_now timestamptz, p_until timestamptz, p_queue text, p_topics text[],
  p_priority smallint, p_due timestamptz, p_mark_at timestamptz, p_mark_id uuid, p_limit integer,
  out rows tid[], out expired uuid[], out cleared boolean, out again timestamptz)
  language plpgsql
as $$
declare
  v_keyed boolean;
  v_held boolean;
begin
  select array_agg(c.tid) filter (where c.status = 'pending'), array_agg(c.id) filter (where c.status = 'processing'),
      bool_or(c.concurrency_key is not null)
    into rows, expired, v_keyed
    from (
      select j.ctid as tid, j.id, j.status, j.concurrency_key from oncue.jobs j
      where j.queue = p_queue and j.priority = p_priority
        and (j.visible_at, j.id) > (p_mark_at, p_mark_id) and j.visible_at <= p_due
        and (j.locked_until is null or j.locked_until < p_now)
        and (p_topics is null or j.topic = any (p_topics))
      order by j.visible_at, j.id
      limit p_limit
      for update skip locked
    ) c;
  cleared := expired is not null;
  if v_keyed and rows is not null then
    select h.rows, h.held, h.again into rows, v_held, again from oncue.hold_back(p_now, p_until, p_queue, rows) h;
    cleared := cleared or v_held and again is null;
  end if;
end $$;

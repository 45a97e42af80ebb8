-- Promotes the next throttled jobs of a concurrency key, at p_at or when they are due. A promoted job takes no slot
-- until it is claimed. So a queue that has a ready job of this key and does not claim it (it is paused, it is full, it has
-- no worker) must not block the others: its next jobs are promoted in addition, and the free slots go to the queues that
-- have none ready. p_claiming is the queue that claims now, if any: its jobs in hand look ready. The slot is locked by
-- the caller.
create function oncue.promote(p_now timestamptz, p_at timestamptz, p_key text, p_count integer, p_claiming text) returns void
  language plpgsql
as $$
declare
  v_key constant text := substr(p_key, 3);
  v_rows tid[];
begin
  with recursive queues(name) as (
    -- Steps from one distinct queue to the next, instead of walking their jobs.
    (select h.queue from oncue.jobs h where h.concurrency_key = v_key and h.visible_at is null order by h.queue limit 1)
    union all
    select (
      select h.queue from oncue.jobs h
      where h.concurrency_key = v_key and h.visible_at is null and h.queue > q.name order by h.queue limit 1)
    from queues q where q.name is not null
  ), held as (
    select h.tid, q.has_ready, row_number() over (partition by q.has_ready order by h.priority desc, h.run_at, h.id) as n
    from (
      select q.name, q.name is distinct from p_claiming and (
          select true from oncue.jobs r
          where r.concurrency_key = v_key and r.queue = q.name and r.visible_at <= p_now and r.status = 'pending'
          order by r.visible_at limit 1) is not null as has_ready
      from queues q where q.name is not null
    ) q
    cross join lateral (
      -- Locked first, then changed: one statement for both would miss a row that another transaction has just changed.
      select j.ctid as tid, j.priority, j.run_at, j.id from oncue.jobs j
      where j.concurrency_key = v_key and j.queue = q.name and j.visible_at is null and j.status = 'pending'
      order by j.priority desc, j.run_at, j.id limit p_count
      for update skip locked
    ) h
  )
  select coalesce(array_agg(h.tid), '{}') into v_rows from held h where h.has_ready or h.n <= p_count;
  update oncue.jobs j set visible_at = greatest(p_at, j.run_at) where j.ctid = any (v_rows);
  if cardinality(v_rows) < p_count then
    update oncue.slots s set waiting = false
    where s.key = p_key and s.waiting and not exists (
      select from oncue.jobs h where h.concurrency_key = v_key and h.visible_at is null and h.status = 'pending');
  end if;
end $$;

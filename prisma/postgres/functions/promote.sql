-- Gives the next held jobs of a concurrency key their turn, at p_at or when they are due. The slot is locked by the caller.
create function oncue.promote(p_at timestamptz, p_key text, p_count integer) returns void
  language plpgsql
as $$
declare
  -- First locked, then changed: within one statement, a row that another transaction has just changed would be missed.
  v_rows constant tid[] := array(
    select h.ctid from oncue.jobs h
    where h.concurrency_key = substr(p_key, 3) and h.visible_at is null and h.status = 'pending'
    order by h.priority desc, h.run_at, h.id limit p_count
    for update skip locked);
begin
  update oncue.jobs j set visible_at = greatest(p_at, j.run_at) where j.ctid = any (v_rows);
  if cardinality(v_rows) < p_count then
    update oncue.slots s set waiting = false
    where s.key = p_key and s.waiting and not exists (
      select from oncue.jobs h
      where h.concurrency_key = substr(p_key, 3) and h.visible_at is null and h.status = 'pending');
  end if;
end $$;

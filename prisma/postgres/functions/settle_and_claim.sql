-- planner: default
-- Settles finished runs and claims the next jobs, in one round trip and one transaction.
create function oncue.settle_and_claim(
  p_now timestamptz, p_ids uuid[], p_runs integer[], p_results json[], p_others json,
  p_big_ids uuid[], p_big_runs integer[], p_big_data json[],
  p_worker uuid, p_lease_ms integer, p_queues text[], p_topics text[], p_limit integer,
  p_start integer, p_mark_queue text[], p_mark_priority smallint[], p_mark_at timestamptz[], p_mark_id uuid[]
) returns setof oncue.work_row
  language plpgsql
as $$
begin
  return query select * from oncue.settle(p_now, p_ids, p_runs, p_results, p_others, p_big_ids, p_big_runs, p_big_data,
                                             p_worker);
  return query select * from oncue.claim(p_now, p_worker, p_lease_ms, p_queues, p_topics, p_limit, p_start,
                                            p_mark_queue, p_mark_priority, p_mark_at, p_mark_id);
end $$;

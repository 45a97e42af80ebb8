-- planner: none
-- At another isolation than read committed our functions would look at an old snapshot: limits would be
-- exceeded, and what another transaction has just written would be waited for in vain. The store's own
-- connections ask for it; this refuses those that could not. Callers test first, because a call costs more.
create function oncue.refuse_isolation() returns void
  language plpgsql
as $$
begin
  raise exception 'The isolation of this transaction is %, not read committed', current_setting('transaction_isolation')
    using errcode = 'OC003';
end $$;

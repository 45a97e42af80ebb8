-- planner: none
-- At an isolation level other than read committed our functions would read an old snapshot: limits would be
-- exceeded, and rows that another transaction has just written would never be seen. The store's own
-- connections set the level; this refuses those that could not. Callers check it first, because a call costs more.
create function oncue.refuse_isolation() returns void
  language plpgsql
as $$
begin
  raise exception 'The isolation of this transaction is %, not read committed', current_setting('transaction_isolation')
    using errcode = 'OC003';
end $$;

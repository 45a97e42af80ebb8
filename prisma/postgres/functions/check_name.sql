-- planner: none
-- The rules of names.ts in packages/core/src/job: names are well formed, and not reserved for Oncue.
create function oncue.check_name(p_kind text, p_name text) returns void
  language plpgsql
as $$
declare
  c_part constant text := '[A-Za-z0-9_][A-Za-z0-9_./-]*';
  c_length constant integer := case p_kind when 'topic' then {{limits.topicLength}} else {{limits.queueLength}} end;
  v_fault constant text := case
    when p_name is null then 'is missing'
    when p_name = '' then 'is empty'
    when length(p_name) > c_length then format('has %s characters, at most %s are allowed', length(p_name), c_length)
    when p_kind = 'topic' and p_name ~ ('^(' || c_part || ':)?' || c_part || '$') then null
    when p_kind = 'queue' and p_name ~ ('^' || c_part || '$') then null
    else 'is not a valid name' end;
begin
  if p_kind = 'topic' and p_name like 'oncue:%' then
    perform oncue.refuse('TOPIC_NOT_ALLOWED', format('The topic %s is reserved for Oncue', left(p_name, 60)),
      'Use another name: topics with this prefix are Oncue''s own.');
  elsif p_kind = 'queue' and p_name || ':' = 'oncue:' then
    perform oncue.refuse('INVALID_QUEUE', format('queue: "%s" is reserved for Oncue''s own jobs', p_name), 'Use another name.');
  end if;
  if v_fault is null then return; end if;
  perform oncue.refuse('INVALID_' || upper(p_kind), concat_ws(' ', p_kind, to_json(left(p_name, 60))::text, v_fault),
    format('Use letters, digits and _ . - /, at most %s', c_length) || case p_kind when 'topic' then ', with at most one "app:" prefix.' else '.' end);
end $$;

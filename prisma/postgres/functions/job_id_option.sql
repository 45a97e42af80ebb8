-- planner: none
-- The id of a job, or null where the option is absent or null.
create function oncue.job_id_option(p_path text, p_value jsonb) returns uuid
  language plpgsql
as $$
declare
  v_text constant text := p_value #>> '{}';
begin
  if v_text is null or v_text ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' then
    return v_text::uuid;
  end if;
  perform oncue.refuse('INVALID_INPUT', format('%s must be a job id, not %s', p_path, left(p_value::text, 60)),
    'A job id is a UUID v7 in lower case, as oncue.enqueue returns it.');
end $$;

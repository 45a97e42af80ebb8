-- planner: none
-- The values of options.retry: how often, and when; null where they are absent.
create function oncue.retry_option(p_value jsonb, out max_retries integer, out retry jsonb)
  language plpgsql
as $$
declare
  v_delay text;
begin
  if p_value is null or p_value = 'null' then return; end if;
  if p_value = 'false' then
    max_retries := 0;
    return;
  end if;
  perform oncue.check_fields('options.retry', p_value, '{strategy,baseDelay,minDelay,maxDelay,max}');
  max_retries := oncue.integer_option('options.retry.max', p_value -> 'max', 0, {{limits.maxRetries}});
  perform oncue.text_option('options.retry.strategy', p_value -> 'strategy', 0, '{quadratic,exponential,exponential_jitter,fixed}');
  foreach v_delay in array '{baseDelay,minDelay,maxDelay}'::text[] loop
    perform oncue.integer_option('options.retry.' || v_delay, p_value -> v_delay, 0, {{limits.retryDelayMs}});
  end loop;
  if (p_value ->> 'minDelay')::numeric > (p_value ->> 'maxDelay')::numeric then
    perform oncue.refuse('INVALID_INPUT', 'options.retry.minDelay is greater than maxDelay', 'Correct the field named in the message.');
  end if;
  retry := jsonb_strip_nulls(p_value - 'max');
  retry := case when retry <> '{}' then '{"strategy": "quadratic"}' || retry end;
end $$;

-- planner: none
-- The limits of encodeJson in packages/core/src/json.ts. Texts are cut out only where something may be wrong.
create function oncue.check_payload(p_json text, p_what text, p_bytes integer) returns void
  language plpgsql
as $$
declare
  v_bare text;
  v_number text;
begin
  if octet_length(p_json) > p_bytes then
    perform oncue.refuse(upper(p_what) || '_TOO_LARGE',
      format('%s is %s bytes of JSON, at most %s are allowed', p_what, octet_length(p_json), p_bytes),
      case p_what when 'meta' then 'Keep only what you filter by in meta; the rest belongs in the payload.'
        else 'Store the data elsewhere and send a reference to it.' end);
  end if;
  if length(p_json) - length(translate(p_json, '[{', '')) <= {{limits.jsonDepth}} and p_json !~ '\d{16}' then return; end if;
  v_bare := regexp_replace(p_json, '"(?:[^"\\]|\\.)*"', '""', 'g');
  select m[1] into v_number from regexp_matches(v_bare, '(?<![\d.eE+-])(-?\d{16,})(?![\d.eE])', 'g') as m
    where abs(m[1]::numeric) > 9007199254740991 limit 1;
  if v_number is not null then
    perform oncue.refuse('UNSAFE_NUMBER', format('%s has the number %s, which JSON readers would round', p_what, v_number),
      'Send it as a string: JSON readers lose digits of integers beyond 2^53 - 1.');
  end if;
  if (select max(d.depth) from (
    select sum(case when b.m[1] in ('[', '{') then 1 else -1 end) over (order by b.n) as depth
    from regexp_matches(v_bare, '[][{}]', 'g') with ordinality as b(m, n)) d) > {{limits.jsonDepth}} then
    perform oncue.refuse('INVALID_PAYLOAD', format('%s is nested deeper than {{limits.jsonDepth}} levels', p_what),
      'Send plain JSON that fits the input schema of the topic.');
  end if;
end $$;

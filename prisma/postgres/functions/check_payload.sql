-- planner: none
-- The rules of encodeJson in packages/core/src/job/json.ts, for JSON that is text; p_bytes null: of any size. Texts are
-- cut out only where something may be wrong, so that a plain payload costs one search. (A digit and an e is in many ids.)
create function oncue.check_payload(p_json text, p_what text, p_bytes integer default null) returns void
  language plpgsql
as $$
declare
  c_code constant text := case p_what when 'payload' then 'INVALID_PAYLOAD' else 'INVALID_INPUT' end;
  c_hint constant text := case p_what when 'payload' then 'Send plain JSON that fits the input schema of the topic.'
    else 'Correct the field named in the message.' end;
  v_text text;
  v_number record;
begin
  if octet_length(p_json) > p_bytes then
    perform oncue.refuse(upper(p_what) || '_TOO_LARGE',
      format('%s is %s bytes of JSON, at most %s are allowed', p_what, octet_length(p_json), p_bytes),
      case p_what when 'meta' then 'Put only what you filter by into meta, and the rest into the payload.'
        else 'Store the data elsewhere and send a reference to it.' end);
  end if;
  if length(p_json) - length(translate(p_json, '[{', '')) <= {{limits.jsonDepth}}
    and p_json !~ '\\u|__proto__|\d{16}|(?:^|[\s:,[])-?[\d.]+[eE][\d+]' then return; end if;

  -- An escaped backslash does not begin an escape.
  v_text := replace(p_json, '\\', '  ');
  if strpos(v_text, '\u0000') > 0 then
    perform oncue.refuse('INVALID_TEXT', format('%s contains a NUL character', p_what),
      'Remove NUL characters and lone surrogates; send binary data as base64.');
  end if;
  if regexp_replace(v_text, '\\u[dD][89abAB]..\\u[dD][c-fC-F]', ' ', 'g') ~ '\\u[dD][89a-fA-F]' then
    perform oncue.refuse('INVALID_TEXT', format('%s contains a lone surrogate', p_what),
      'Remove NUL characters and lone surrogates; send binary data as base64.');
  end if;
  if v_text ~ ('(?<!\\)"(?:_|\\u005[fF]){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006[fF])(?:t|\\u0074)(?:o|\\u006[fF])'
    || '(?:_|\\u005[fF]){2}"\s*:') then
    perform oncue.refuse(c_code, format('%s has a property "__proto__", which replaces the prototype of a copy', p_what), c_hint);
  end if;

  v_text := regexp_replace(v_text, '"(?:[^"\\]|\\.)*"', '""', 'g');
  -- A number is 0.digits * 10 ^ size.
  select left(n.number, 60) as number, n.size > 309 or n.size = 309 and n.start >= 17976931348623158 as is_infinite
    into v_number
    from (
      select m[1] as number, rpad(left(d.digits, 17), 17, '0')::bigint as start,
        length(d.digits) - coalesce(length(m[3]), 0)
          + case when m[4] like '-%' then -1 else 1 end * concat('0', left(ltrim(m[4], '+-0'), 8))::integer as size
      from regexp_matches(v_text, '(-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?)', 'g') as m,
        lateral (select ltrim(concat(m[2], m[3]), '0') as digits) d
      where (length(m[2]) > 15 or m[4] is not null) and d.digits <> '') n
    where n.size > 16 or n.size = 16 and n.start >= 90071992547409915
    limit 1;
  if v_number.is_infinite then
    perform oncue.refuse(c_code, format('%s has the number %s, which JavaScript reads as Infinity', p_what, v_number.number), c_hint);
  elsif v_number.number is not null then
    perform oncue.refuse('UNSAFE_NUMBER', format('%s has the number %s, which JSON readers would round', p_what, v_number.number),
      'Send it as a string: JSON readers lose digits of integers beyond 2^53 - 1.');
  end if;
  if (select max(d.depth) from (
    select sum(case when b.m[1] in ('[', '{') then 1 else -1 end) over (order by b.n) as depth
    from regexp_matches(v_text, '[][{}]', 'g') with ordinality as b(m, n)) d) > {{limits.jsonDepth}} then
    perform oncue.refuse(c_code, format('%s is nested deeper than {{limits.jsonDepth}} levels', p_what), c_hint);
  end if;
end $$;

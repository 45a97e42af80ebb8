/** Fields that readable lines print raw. All others are printed as JSON, which escapes the characters below 32. */
const RAW: ReadonlySet<string> = new Set([
  'msg',
  'name',
  'hostname',
  'pid',
  'caller',
  'level',
  'time',
  'stack',
])

// Characters that move a cursor, end a line or change its direction.
const ALWAYS = '\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069'
const INSIDE_JSON = new RegExp(`[${ALWAYS}]`, 'g')
const IN_A_LINE = new RegExp(`[\\u0000-\\u001f${ALWAYS}]`, 'g')
/** A stack is indented, so none of its lines looks like a message. */
const IN_A_STACK = new RegExp(`[\\u0000-\\u0009\\u000b-\\u001f${ALWAYS}]`, 'g')

/** Escapes a line of a JSON log, so that no text in it looks like another line once it is made readable. */
export function escapeLogLine(line: string): string {
  const escaped = JSON.parse(line, (key, value: unknown) => {
    if (typeof value !== 'string') return value
    if (!RAW.has(key)) return value.replace(INSIDE_JSON, toEscape)
    return value.replace(key === 'stack' ? IN_A_STACK : IN_A_LINE, toEscape)
  })
  return `${JSON.stringify(escaped)}\n`
}

function toEscape(character: string): string {
  if (character === '\n') return '\\n'
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Adds entries to an object of a JSON text, below its top-level key, and leaves all other text as it is. */
export function addEntries(text: string, key: string, entries: Readonly<Record<string, string>>): string {
  const lines = Object.entries(entries).map(
    ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  )
  if (lines.length === 0) return text
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? ''
  if (text.includes('\r\n'))
    return addEntries(text.replaceAll('\r\n', '\n'), key, entries).replaceAll('\n', '\r\n')
  const found = rangeOf(text, key)
  if (found !== null) return insert(text, found.end, lines, indent === '' ? '' : indent + indent, indent)
  const object = insert('{}', 1, lines, indent === '' ? '' : indent + indent, indent)
  return insert(text, text.lastIndexOf('}'), [`${JSON.stringify(key)}: ${object}`], indent, '')
}

/** Before the bracket at `end`: on lines of their own, unless the text has no lines. */
function insert(text: string, end: number, items: readonly string[], indent: string, outer: string): string {
  const before = text.slice(0, end).trimEnd()
  const comma = before.endsWith('{') ? '' : ','
  const isOneLine =
    indent === '' || (comma !== '' && !text.slice(before.lastIndexOf('{'), end).includes('\n'))
  const added = isOneLine
    ? `${comma}${comma === '' ? '' : ' '}${items.join(', ')}${/ $/.test(text.slice(0, end)) ? ' ' : ''}`
    : `${comma}${items.map((item, at) => `${at === 0 ? '' : ','}\n${indent}${item}`).join('')}\n${outer}`
  return before + added + text.slice(end)
}

/**
 * Where the brackets of that object are; null: the text has no such key. The text is valid JSON. Of several objects with
 * this key the last one counts, as for programs that read it.
 */
export function rangeOf(text: string, key: string): { readonly start: number; readonly end: number } | null {
  let depth = 0
  let isWanted = false
  let start = 0
  let found: { readonly start: number; readonly end: number } | null = null
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (token === '{' || token === '[') {
      depth++
      if (depth === 2) start = index
    } else if (token === '}' || token === ']') {
      depth--
      if (isWanted && depth === 1) {
        found = { start, end: index }
        isWanted = false
      }
    } else if (depth === 1 && /^\s*:\s*\{/.test(text.slice(index + token.length)))
      isWanted = JSON.parse(token) === key
  }
  return found
}

/** The same text with spaces instead of comments, so that what is found in it is at the same place. */
export function blankComments(text: string): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"|\/\/.*|\/\*[\s\S]*?\*\//g, (token) =>
    token.startsWith('"') ? token : token.replace(/[^\r\n]/g, ' '),
  )
}

/** Adds entries to an object of a JSON text, below its top-level key, and leaves all other text as it is. */
export function addEntries(text: string, key: string, entries: Readonly<Record<string, string>>): string {
  const lines = Object.entries(entries).map(
    ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  )
  if (lines.length === 0) return text
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? ''
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

/** Where the closing bracket of that object is; null: the text has no such key. The text is valid JSON. */
function rangeOf(text: string, key: string): { readonly end: number } | null {
  let depth = 0
  let isWanted = false
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') {
      depth--
      if (isWanted && depth === 1) return { end: index }
    } else if (depth === 1 && /^\s*:\s*\{/.test(text.slice(index + token.length)))
      isWanted = JSON.parse(token) === key
  }
  return null
}

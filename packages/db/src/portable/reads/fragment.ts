import type { Value } from '../sql.ts'

/** A piece of portable SQL with its values, so that statements can be put together without counting `?`. */
export type Fragment = { readonly text: string; readonly values: readonly Value[] }

export function q(strings: TemplateStringsArray, ...parts: readonly (Fragment | Value)[]): Fragment {
  let text = strings[0] ?? ''
  const values: Value[] = []
  parts.forEach((part, i) => {
    if (isFragment(part)) {
      text += part.text
      values.push(...part.values)
    } else {
      text += '?'
      values.push(part)
    }
    text += strings[i + 1] ?? ''
  })
  return { text, values }
}

/** SQL that is ours, word for word: never anything that came from a caller. */
export function raw(text: string): Fragment {
  return { text, values: [] }
}

export function join(fragments: readonly Fragment[], separator: string): Fragment {
  return {
    text: fragments.map(({ text }) => text).join(separator),
    values: fragments.flatMap(({ values }) => values),
  }
}

/** All of the conditions; true when there are none. */
export function all(conditions: readonly Fragment[]): Fragment {
  return conditions.length ? join(conditions, ' and ') : raw('1 = 1')
}

/** The beginning of a statement that refers to these; nothing when there are none. */
export function withCtes(ctes: readonly Fragment[]): Fragment {
  return ctes.length ? q`with recursive ${join(ctes, ', ')}` : raw('')
}

function isFragment(part: Fragment | Value): part is Fragment {
  return typeof part === 'object' && part !== null && 'text' in part
}

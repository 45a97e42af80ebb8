import { quote } from './text.ts'

const SHOWN = 10

/** Where in a value something is wrong, as one would write it in code: `payload.items[3].name`. */
export function formatPath(root: string, path: readonly PropertyKey[]): string {
  const shown = path.length > 2 * SHOWN ? [...path.slice(0, SHOWN), '…', ...path.slice(-SHOWN)] : path
  let text = root
  for (const key of shown) {
    if (typeof key === 'number') text += `[${key}]`
    else if (typeof key === 'string' && /^(?:[A-Za-z_$][\w$]*|…)$/.test(key)) text += `.${key}`
    else text += `[${quote(key)}]`
  }
  return text
}

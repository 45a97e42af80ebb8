import { OncueError } from '../errors.ts'

/**
 * NUL, which Postgres cannot store, and half of a surrogate pair, which no UTF-8 encoder can write: with the
 * `u` flag the range matches lone surrogates only. (`isWellFormed` would do, but Hermes lacks it.)
 */
const UNSTORABLE = /[\0\ud800-\udfff]/u
const UNSTORABLE_ALL = /[\0\ud800-\udfff]/gu

export function isStorableText(text: string): boolean {
  return !UNSTORABLE.test(text)
}

/** Says what is wrong with a text that cannot be stored, for the end of a sentence. */
export function textFault(text: string): string {
  const at = text.search(UNSTORABLE)
  return `contains ${text[at] === '\0' ? 'a NUL character' : 'a lone surrogate'} at position ${at}`
}

/** Refuses text that a database could not return unchanged. `what` names the field in the message. */
export function assertText(text: string, what: string): void {
  if (!isStorableText(text)) throw new OncueError('INVALID_TEXT', `${what} ${textFault(text)}`)
}

/** For texts that must be kept despite a bad character, such as error messages. */
export function cleanText(text: string): string {
  return text.replace(UNSTORABLE_ALL, '\ufffd')
}

/** Bytes of well-formed `text` in UTF-8, without encoding it. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    if (unit < 0x800) bytes += 1
    // A pair takes four bytes: three counted at its first half, one at its second.
    else if (unit < 0xdc00 || unit > 0xdfff) bytes += 2
  }
  return bytes
}

/** The longest beginning of `text` that fits, without cutting a character in two. */
export function truncateUtf8(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text
  let bytes = 0
  let end = 0
  for (const character of text) {
    bytes += utf8Length(character)
    if (bytes > maxBytes) return text.slice(0, end)
    end += character.length
  }
  return text
}

/** A value as it appears in an error message: on one line, control characters visible, shortened. */
export function quote(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString()
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'function') return 'a function'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

const SHOWN_KEYS = 10

/** Where in a value something is wrong, in the notation of code: `payload.items[3].name`. */
export function formatPath(root: string, path: readonly PropertyKey[]): string {
  const shown =
    path.length > 2 * SHOWN_KEYS ? [...path.slice(0, SHOWN_KEYS), '…', ...path.slice(-SHOWN_KEYS)] : path
  let text = root
  for (const key of shown) {
    if (typeof key === 'number') text += `[${key}]`
    else if (typeof key === 'string' && /^(?:[A-Za-z_$][\w$]*|…)$/.test(key)) text += `.${key}`
    else text += `[${quote(key)}]`
  }
  return text
}

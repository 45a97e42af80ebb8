import { formatDuration, parseDuration } from '@oncue/runtime'
import { InvalidArgumentError } from 'commander'
import { parseWhole } from '../environment.ts'

/** Parsers of arguments. Commander reports what they throw as wrong usage. */

const UNITS = '500ms, 30s, 5m, 2h or 7d'
const NEEDS_UNIT = `A duration needs its unit: ${UNITS}.`

export function toDuration(text: string): number {
  return readDuration(text) ?? refuse(NEEDS_UNIT)
}

/** Or that word. */
export function toDurationOr<Word extends string>(word: Word) {
  return (text: string): number | Word =>
    text === word
      ? word
      : (readDuration(text) ?? refuse(`Use ${word}, or a duration with its unit: ${UNITS}.`))
}

/** More than 0, and no longer than that. */
export function toDurationUpTo(maxMs: number) {
  return (text: string): number => {
    const ms = Math.round(toDuration(text))
    return ms >= 1 && ms <= maxMs
      ? ms
      : refuse(`Use a time of more than 0 and at most ${formatDuration(maxMs)}.`)
  }
}

/** Null if it is not one. The unit is never assumed: 5 may mean seconds, minutes or hours. */
export function readDuration(text: string): number | null {
  return Number(text) > 0 ? refuse(NEEDS_UNIT) : parseDuration(text)
}

export function toWhole(min: number, max: number) {
  return (text: string): number =>
    parseWhole(text, min, max) ?? refuse(`Use a whole number from ${min} to ${max}.`)
}

/** For an option that may be repeated. */
export function toList(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

export function refuse(why: string): never {
  throw new InvalidArgumentError(why)
}

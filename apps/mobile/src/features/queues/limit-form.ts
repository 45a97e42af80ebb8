import type { Outputs } from '@oncue/sdk'
import { count, duration, number } from '../../lib/format.ts'

export type Limit = Outputs['queues']['list'][number]['limit']

/** As it is typed. */
export interface LimitText {
  readonly maxRunning: string
  readonly count: string
  readonly seconds: string
}

export function textOf(limit: Limit): LimitText {
  const { maxRunning, rate } = limit ?? {}
  return {
    maxRunning: maxRunning == null ? '' : String(maxRunning),
    count: rate ? String(rate.count) : '',
    seconds: rate ? String(rate.intervalMs / 1_000) : '',
  }
}

type Checked =
  | { readonly ok: true; readonly limit: Limit }
  | { readonly ok: false; readonly errors: Partial<LimitText> }

/** Empty fields mean no limit. */
export function readLimit(text: LimitText): Checked {
  const maxRunning = numberIn(text.maxRunning)
  const count = numberIn(text.count)
  const seconds = numberIn(text.seconds)
  const errors: Partial<Record<keyof LimitText, string>> = {}
  if (maxRunning !== null && !isWhole(maxRunning, 0, 1_000_000))
    errors.maxRunning = 'A whole number from 0 to 1,000,000, or leave empty.'
  if (count === null && seconds !== null) errors.count = 'How many may start in that time?'
  if (count !== null && !isWhole(count, 1, 10_000))
    errors.count = 'A whole number from 1 to 10,000, or leave empty.'
  if (seconds === null && count !== null) errors.seconds = 'Within how many seconds?'
  if (seconds !== null && !isWhole(Math.round(seconds * 1_000), 1, 86_400_000))
    errors.seconds = 'From 0.001 to 86,400 seconds.'
  if (Object.keys(errors).length > 0) return { ok: false, errors }
  const rate = count !== null && seconds !== null && { count, intervalMs: Math.round(seconds * 1_000) }
  if (maxRunning === null && !rate) return { ok: true, limit: null }
  return { ok: true, limit: { maxRunning, rate: rate || null } }
}

/** "at most 10 at once, at most 100 starts per 1 min". */
export function limitInWords(limit: Limit): string {
  const { maxRunning, rate } = limit ?? {}
  const parts = [
    maxRunning === 0 && 'limited to 0',
    !!maxRunning && `at most ${number(maxRunning)} at once`,
    rate && `at most ${count(rate.count, 'start')} per ${duration(rate.intervalMs)}`,
  ].filter(Boolean)
  return parts.join(', ') || 'no limit'
}

const numberIn = (text: string) => (text.trim() === '' ? null : Number(text.trim()))

const isWhole = (value: number, min: number, max: number) =>
  Number.isInteger(value) && value >= min && value <= max

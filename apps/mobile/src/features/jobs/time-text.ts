import * as zone from '../../lib/time-zone.ts'

const FORM = /^(\d{4})-(\d{2})-(\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2}))?)?$/

/** `2026-11-18 03:12`, in the zone in which times are shown; undefined: nothing is written; null: it is no time. */
export function readTime(text: string): Date | undefined | null {
  const typed = text.trim()
  if (typed === '') return undefined
  const [, ...parts] = FORM.exec(typed) ?? []
  if (parts.length === 0) return null
  const [year = 0, month = 0, date = 0, hours = 0, minutes = 0, seconds = 0] = parts.map((part) =>
    Number(part ?? 0),
  )
  return zone.momentOf({ year, month: month - 1, date, hours, minutes, seconds })
}

export function writeTime(at: Date | undefined): string {
  if (!at) return ''
  const { year, month, date, hours, minutes, seconds } = zone.readTime(at)
  const pad = (part: number) => String(part).padStart(2, '0')
  const tail = seconds === 0 ? '' : `:${pad(seconds)}`
  return `${year}-${pad(month + 1)}-${pad(date)} ${pad(hours)}:${pad(minutes)}${tail}`
}

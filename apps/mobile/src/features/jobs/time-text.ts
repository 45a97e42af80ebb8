const FORM = /^(\d{4})-(\d{2})-(\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2}))?)?$/

/** `2026-11-18 03:12`, in the time zone of this device; undefined: nothing is written; null: it is no time. */
export function readTime(text: string): Date | undefined | null {
  const typed = text.trim()
  if (typed === '') return undefined
  const [, ...parts] = FORM.exec(typed) ?? []
  if (parts.length === 0) return null
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.map((part) =>
    Number(part ?? 0),
  )
  const at = new Date(year, month - 1, day, hour, minute, second)
  // 31 February would become a day in March.
  return at.getMonth() === month - 1 && at.getDate() === day && at.getHours() === hour ? at : null
}

export function writeTime(at: Date | undefined): string {
  if (!at) return ''
  const pad = (part: number) => String(part).padStart(2, '0')
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`
  const seconds = at.getSeconds() === 0 ? '' : `:${pad(at.getSeconds())}`
  return `${day} ${pad(at.getHours())}:${pad(at.getMinutes())}${seconds}`
}

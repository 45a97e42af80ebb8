const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `500ms`, `30s`, `1.5m`, `2h`, `7d`, or plain milliseconds. Null: none of these. */
export function parseDuration(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/.exec(text.trim())
  if (!match) return null
  const [, count, unit = 'ms'] = match
  const ms = Math.round(Number(count) * UNITS[unit as keyof typeof UNITS])
  return Number.isSafeInteger(ms) ? ms : null
}

/** Two units at most, so that a column of them can be read at a glance. */
export function formatDuration(ms: number): string {
  if (ms < 0) return `-${formatDuration(-ms)}`
  if (ms < 1_000) return `${Math.round(ms)}ms`
  if (ms < 10_000) return `${(Math.trunc(ms / 100) / 10).toFixed(1)}s`
  const [large, small] = (
    [
      ['d', 'h'],
      ['h', 'm'],
      ['m', 's'],
    ] as const
  ).find(([unit]) => ms >= UNITS[unit]) ?? ['s', undefined]
  const rest = small && Math.trunc((ms % UNITS[large]) / UNITS[small])
  return `${Math.trunc(ms / UNITS[large])}${large}${rest ? ` ${rest}${small}` : ''}`
}

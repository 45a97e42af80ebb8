import type { Outputs } from '@oncue/sdk'

export type Alert = Outputs['alerts']['get']

/** The server's picture is a moment older than what it was taken from. */
const SLACK_MS = 10_000

const isFiring = ({ state }: Alert) => state === 'firing'

export function firingIds(alerts: readonly Alert[]): ReadonlySet<string> {
  return new Set(alerts.filter(isFiring).map(({ id }) => id))
}

/**
 * What began to fire, or fires again after a snooze. `known` is what fired when last asked; null when nobody has
 * asked since `since`: then what is older is no news.
 */
export function newlyFiring(
  alerts: readonly Alert[],
  { known, since }: { readonly known: ReadonlySet<string> | null; readonly since: Date },
): Alert[] {
  const isNews = ({ id, firedAt }: Alert) =>
    known ? !known.has(id) : firedAt.getTime() >= since.getTime() - SLACK_MS
  return alerts.filter((alert) => isFiring(alert) && isNews(alert))
}

import type { Outputs } from '@oncue/sdk'

export type Alert = Outputs['alerts']['get']

/** Health is a few seconds old when it arrives. */
const SLACK_MS = 10_000

const isFiring = ({ state }: Alert) => state === 'firing'

export function firingIds(alerts: readonly Alert[]): ReadonlySet<string> {
  return new Set(alerts.filter(isFiring).map(({ id }) => id))
}

/**
 * Alerts that began to fire, or fire again after a snooze. `known` holds the alerts that fired at the last request.
 * Null: there was none since `since`, and alerts older than that are not new.
 */
export function newlyFiring(
  alerts: readonly Alert[],
  { known, since }: { readonly known: ReadonlySet<string> | null; readonly since: Date },
): Alert[] {
  const isNews = ({ id, firedAt }: Alert) =>
    known ? !known.has(id) : firedAt.getTime() >= since.getTime() - SLACK_MS
  return alerts.filter((alert) => isFiring(alert) && isNews(alert))
}

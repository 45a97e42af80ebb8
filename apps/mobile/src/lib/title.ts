import type { Health } from './connection-provider.tsx'

type Picture = Pick<Health, 'summary' | 'queues'>

const TROUBLE: readonly string[] = ['stalled', 'late', 'failing']

/** `Queues · Oncue` on a good day, `(2) mail late · Queues · Oncue` on another. */
export function titleOf(title: string, health: Picture | undefined, isOffline: boolean): string {
  if (isOffline) return `Offline · ${title} · Oncue`
  if (!health?.summary || health.summary.level === 'good') return `${title} · Oncue`
  const many = health.queues.filter(({ state }) => TROUBLE.includes(state)).length
  return `${many > 0 ? `(${many}) ` : ''}${health.summary.text} · ${title} · Oncue`
}

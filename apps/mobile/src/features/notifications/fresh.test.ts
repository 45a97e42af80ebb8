import { expect, it } from 'vitest'
import { type Alert, firingIds, newlyFiring } from './fresh.ts'

const START = Date.UTC(2026, 10, 16, 3, 12)

const alertOf = (id: string, secondsAfterStart: number, state: Alert['state'] = 'firing'): Alert => ({
  ...{ id, state, ruleId: 'r', kind: 'paused', queue: 'mail', summary: id, value: 1, threshold: 0 },
  ...{ firedAt: new Date(START + secondsAfterStart * 1_000), acked: null, snoozed: null, resolvedAt: null },
  ...{ groupId: id, queues: ['mail'], topic: null, fingerprint: null, updated: new Date(START) },
})
const ids = (alerts: readonly Alert[]) => alerts.map(({ id }) => id)
const since = new Date(START)

it('announces no alert that fired before the app was opened', () => {
  const alerts = [alertOf('old', -600), alertOf('new', 30)]
  expect(ids(newlyFiring(alerts, { known: null, since }))).toEqual(['new'])
})

it('announces each alert once', () => {
  const alerts = [alertOf('a', 30), alertOf('b', 40)]
  expect(ids(newlyFiring(alerts, { known: firingIds([alertOf('a', 30)]), since }))).toEqual(['b'])
})

it('announces an alert again when its snooze is over', () => {
  const known = firingIds([alertOf('a', -600, 'snoozed')])
  expect(ids(newlyFiring([alertOf('a', -600)], { known, since }))).toEqual(['a'])
})

it('announces no acknowledged, snoozed or resolved alert', () => {
  const alerts = [alertOf('a', 30, 'acked'), alertOf('b', 30, 'snoozed'), alertOf('c', 30, 'resolved')]
  expect(newlyFiring(alerts, { known: new Set(), since })).toEqual([])
})

import { describe, expect, it } from 'vitest'
import {
  canTransition,
  FINISHED_STATUSES,
  isFinished,
  JOB_STATUSES,
  LIVE_STATUSES,
  TRANSITIONS,
  type TransitionName,
} from './states.ts'

const names = Object.keys(TRANSITIONS) as TransitionName[]

describe('statuses', () => {
  it('are live or finished, never both', () => {
    expect([...LIVE_STATUSES, ...FINISHED_STATUSES]).toEqual(JOB_STATUSES)
    expect(JOB_STATUSES.filter(isFinished)).toEqual(FINISHED_STATUSES)
  })
})

describe('transitions', () => {
  // This table has every pair of a status and an allowed transition; any other is refused.
  const allowed: Record<(typeof JOB_STATUSES)[number], TransitionName[]> = {
    blocked: ['release_dependant', 'stop', 'resume', 'undo', 'cancel'],
    pending: ['claim', 'cancel'],
    processing: [
      'complete',
      'fail',
      'retry',
      'crash',
      'snooze',
      'release',
      'suspend',
      'suspend_until',
      'undo',
      'cancel',
    ],
    completed: ['requeue'],
    failed: ['requeue'],
    cancelled: ['requeue'],
  }

  it.each(JOB_STATUSES)('from %s are exactly the ones of the design', (status) => {
    expect(names.filter((name) => canTransition(status, name))).toEqual(allowed[status])
  })

  it('lead where the design says', () => {
    const targets = Object.fromEntries(names.map((name) => [name, TRANSITIONS[name].to]))
    expect(targets).toEqual({
      release_dependant: 'pending',
      stop: 'failed',
      claim: 'processing',
      complete: 'completed',
      fail: 'failed',
      retry: 'pending',
      crash: 'pending',
      snooze: 'pending',
      release: 'pending',
      suspend: 'blocked',
      suspend_until: 'pending',
      resume: 'pending',
      undo: 'pending',
      cancel: 'cancelled',
      requeue: 'pending',
    })
  })

  it('always change the status, and a finished job only comes back by requeue', () => {
    for (const name of names) {
      expect(TRANSITIONS[name].from).not.toContain(TRANSITIONS[name].to)
      if (name !== 'requeue') expect(TRANSITIONS[name].from.some(isFinished)).toBe(false)
    }
  })

  it('leave no status without a way in and a way out', () => {
    for (const status of JOB_STATUSES) {
      expect(names.some((name) => canTransition(status, name))).toBe(true)
      expect(names.some((name) => TRANSITIONS[name].to === status)).toBe(true)
    }
  })
})

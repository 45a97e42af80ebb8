import type { Outputs } from '@oncue/sdk'
import { minutesAgo } from './alerts.ts'

type Worker = Outputs['workers']['list'][number]
type Schedule = Outputs['schedules']['list'][number]
type Entry = Outputs['audit']['list']['items'][number]
type Token = Outputs['tokens']['list'][number]
type Topic = Outputs['topics']['list'][number]
type Device = Outputs['devices']['list'][number]

export function workerOf(host: string, differs: Partial<Worker> = {}): Worker {
  return {
    ...{ id: host, host, pid: 4711, queues: ['default', 'mail'], concurrency: 10, version: '1.2.0' },
    ...{ running: 3, startedAt: minutesAgo(90), lastBeat: minutesAgo(0), missingSince: null },
    ended: null,
    ...differs,
  }
}

export function scheduleOf(name: string, differs: Partial<Schedule> = {}): Schedule {
  return {
    ...{ name, cron: '0 9 * * 1-5', timezone: 'Europe/Berlin', topic: 'mail_digest', payload: null },
    ...{
      options: {},
      missed: 'skip',
      source: 'code',
      service: 'shop',
      nextAt: minutesAgo(-348),
      lastAt: minutesAgo(1_092),
    },
    ...{ nextRuns: [-348, -1_788, -3_228].map(minutesAgo), paused: null, ...differs },
  }
}

export function entryOf(id: string, differs: Partial<Entry> = {}): Entry {
  return {
    ...{ id, at: minutesAgo(4), actor: { id: 'u1', name: 'ada', kind: 'device' }, action: 'queues.pause' },
    ...{ target: { queue: 'mail' }, count: 1, ip: '10.0.0.7', userAgent: null, requestId: 'r1' },
    ...differs,
  }
}

export function deviceOf(id: string, differs: Partial<Device> = {}): Device {
  return {
    ...{ id, name: 'Pixel', role: 'operator', created: minutesAgo(9_000), createdBy: 'ada' },
    ...{
      maker: { id: 'token', kind: 'token', name: 'ada' },
      expiresAt: null,
      idleUntil: minutesAgo(-129_597),
    },
    ...{ lastUsed: minutesAgo(3), revokedAt: null, isThis: false, push: null },
    ...differs,
  }
}

export function topicOf(topic: string, differs: Partial<Topic> = {}): Topic {
  const properties = {
    userId: { type: 'string', description: 'Whose digest it is' },
    kind: { type: 'string', enum: ['daily', 'weekly'] },
    copies: { type: 'integer', minimum: 1, maximum: 10 },
    urgent: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    address: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    extra: {},
  }
  return {
    ...{ topic, input: { type: 'object', properties, required: ['userId'] }, output: null, clash: null },
    policy: { queue: 'mail', maxRetries: 5, timeoutMs: 30_000 },
    announced: minutesAgo(90),
    ...differs,
  }
}

export function tokenOf(name: string, differs: Partial<Token> = {}): Token {
  return {
    ...{ id: name, kind: 'token', name, role: 'producer', allowedTopics: null, allowedQueues: null },
    ...{ parentId: null, created: minutesAgo(9_000), createdBy: 'ada', expiresAt: null, idleUntil: null },
    ...{ lastUsed: minutesAgo(3), revokedAt: null },
    ...differs,
  }
}
